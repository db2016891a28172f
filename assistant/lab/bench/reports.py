"""The tables of `bench`, those of the papers included: figures with intervals and conditions."""

import os
import platform
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from assistant.decoding.lookahead.forecast import expected_tokens
from assistant.lab.bench import plan
from assistant.lab.bench.answers import ALL, RunAnswer, kinds, match_answers, sums, together
from assistant.lab.bench.intervals import geometric_mean, mean, ratio_of_sums, share
from assistant.lab.table import Cell, Interval, ResultTable
from assistant.system import System
from models.engines import PACKAGES
from models.files.checksum import known_sha256
from models.machine import compute_cores, memory, processor

PROMPTS = (
    ("kind", ""), ("system", ""), ("tokens/s", ".1f"), ("× ArS [95 %]", ".2f"), ("worst", ".2f"),
    ("per eval", ".2f"), ("accepted", ".0%"),
)  # fmt: skip
GAPS = (("system", ""), ("right [95 %]", ".0%"), ("reading, s", ".2f"), ("suggestion, s", ".2f"))
TIMED_TOKENS = 128
"""Tokens whose time is given, as Chen et al. 2023 do."""
SWEEP = (
    ("task", ""), ("K", ""), (f"{TIMED_TOKENS} tokens, s [95 %]", ".2f"), ("yield", ".2f"),
    ("loop, ms", ".1f"), ("draft, ms", ".1f"), ("accepted", ".0%"),
)  # fmt: skip

NOTES = tomllib.loads(Path(__file__).with_name("notes.toml").read_text("utf-8"))
"""The text below each table."""


def prompts(answers: Sequence[RunAnswer], systems: Sequence[System]) -> list[ResultTable]:
    """Return each system's speed by kind, and on all questions together; ArS is the first.

    A question counts where both the system and ArS have answered it.
    """
    reference, rows = systems[0].name, list[list[Cell]]()
    for kind in [*kinds(answers), ALL]:
        for name in (system.name for system in systems):
            if both := match_answers(answers, name, reference, kind).values():
                ratios = [own.speedup(ars) for own, ars in both]
                stats = together(own for own, _ in both).stats
                ratio: list[Cell] = [geometric_mean(ratios), min(ratios)]
                speeds = [stats.tokens_per_s, *(ratio if name != reference else [None, None])]
                rows.append([kind, name, *speeds, stats.tokens_per_eval, stats.acceptance_rate])
    note = NOTES["prompts"]
    if failures := sorted({a.outcome for a in answers if isinstance(a.outcome, str)}):
        note += f" Some answers failed: {' '.join(failures)}"
    return [ResultTable("Speed by kind of prompt", PROMPTS, rows, note, bars=2)]


def infill(
    answers: Sequence[RunAnswer], systems: Sequence[System], middles: Mapping[str, str]
) -> list[ResultTable]:
    """Return the speeds, and how often the first line of an answer is that of the original text.

    `middles` are the original texts of the gaps, by the question's name.
    """
    rows: list[list[Cell]] = []
    for name in (system.name for system in systems):
        own = sums(answers, name).items()
        made = [(middles[key[1]], answer) for key, totals in own for answer in totals.answers]
        if made:
            right = sum(_first_line(answer.text) == _first_line(text) for text, answer in made)
            times = [(answer.stats.prefill_s, answer.stats.decode_s) for _, answer in made]
            rows.append([name, share(right, len(made)), *map(float, np.median(times, axis=0))])
    return [*prompts(answers, systems), ResultTable("Gaps", GAPS, rows, NOTES["gaps"], bars=1)]


def _first_line(text: str) -> str:
    return text.partition("\n")[0].rstrip()


def sweep(answers: Sequence[RunAnswer], systems: Sequence[System]) -> list[ResultTable]:
    """Return the times of each lookahead, by kind of question; ArS has 0."""
    rows: list[list[Cell]] = []
    for kind in kinds(answers):
        for system in systems:
            if not (totals := [*sums(answers, system.name, kind).values()]):
                continue
            whole, k = together(totals), system.lookahead or 0
            stats, steps_s = whole.stats, whole.steps_s
            loop_s = stats.decode_s - stats.draft_s + steps_s
            seconds = mean([TIMED_TOKENS / own.stats.tokens_per_s for own in totals])
            loop_ms, draft_ms = 1000 * loop_s / stats.rounds, 1000 * steps_s / stats.rounds
            used = stats.tokens_per_eval / (k + 1)
            rows.append([kind, str(k), seconds, used, loop_ms, draft_ms, stats.acceptance_rate])
    return [ResultTable("Time by lookahead", SWEEP, rows, NOTES["sweep"], bars=2)]


def surroundings(files: Mapping[str, Path]) -> dict[str, Any]:
    """Return this machine, the versions of all libraries that compute, and the files, by role."""
    uname = platform.uname()
    libraries = ("specchat", *(package.name for package in PACKAGES.values()), "numpy")
    machine = {"processor": processor(), "cores": compute_cores(), "memory": memory().total}
    return {
        "machine": {**machine, "system": f"{uname.system} {uname.release} {uname.machine}"},
        "versions": {"python": platform.python_version(), **{n: _version(n) for n in libraries}},
        "files": {role: _file(path) for role, path in files.items()},
    }


def _file(path: Path) -> dict[str, Any]:
    name = os.fsencode(path).decode("utf-8", "backslashreplace")
    return {"path": name, "size": path.stat().st_size, "sha256": known_sha256(path)}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


SPS = f"model={plan.CHEN_K}"
CHEN = (
    ("task", ""), ("method", ""), ("ROUGE-2 [95 %]", ".3f"), ("ms/token", ".1f"),
    ("× ArS [95 %]", ".2f"),
)  # fmt: skip
ALPHA = (("task", ""), ("draft", ""), ("α [95 %]", ".2f"), ("proposes", ".0%"))
SPEED = (
    ("task", ""), ("K", ""), ("/round", ".2f"), ("eq. 1", ".2f"), ("× ArS [95 %]", ".2f"),
    ("th. 3.8", ".2f"), ("+ t(n)", ".2f"),
)  # fmt: skip
WEIGHTS = (
    ("weights and method", ""), ("tokens/s", ".1f"), ("× first [95 %]", ".2f"), ("slowest", ".1f"),
    ("fastest", ".1f"), ("accepted", ".0%"),
)  # fmt: skip


def tables(
    answers: Sequence[RunAnswer], systems: Sequence[System], references: Mapping[str, str]
) -> list[ResultTable]:
    """Return the papers' tables, with other models on another machine, from the answers of one run.

    They are answers to what `plan.paper_questions` yields; `references` are summaries to compare
    with, by the question's name.
    """
    greedy = [answer for answer in answers if plan.task_and_sampling(answer.kind)[1] == plan.GREEDY]
    swept = [system for system in systems if system.name == "ars" or system.sources == ("model",)]
    alphas = _alphas(answers)
    rates = {kind: alpha.value for kind, draft, alpha, _ in alphas if draft == "model"}
    title, weights = "Leviathan et al. 2023, table", _weights(answers, systems)
    return [
        _chen(answers, references),
        *sweep(greedy, swept),
        ResultTable(f"{title} 3", ALPHA, alphas, NOTES["alpha"], bars=2),
        ResultTable(f"{title} 2", SPEED, _speeds(greedy, rates), NOTES["speed"], bars=4),
        ResultTable("Fewer bits, and speculation", WEIGHTS, weights, NOTES["weights"], 1),
    ]


def _chen(answers: Sequence[RunAnswer], references: Mapping[str, str]) -> ResultTable:
    rows: list[list[Cell]] = []
    for kind in sorted(kinds(answers), key=lambda kind: plan.task_and_sampling(kind)[0]):
        both = match_answers(answers, SPS, "ars", kind)
        if plan.task_and_sampling(kind)[1] not in (plan.GREEDY, plan.NUCLEUS) or not both:
            continue
        scored = [
            [rouge_2(totals.answers[0].text, reference) for totals in pair]
            for (_, question), pair in both.items()
            if (reference := references.get(question))
        ]
        own, ars = (together(side).stats for side in zip(*both.values(), strict=True))
        ratio = geometric_mean([ours.speedup(theirs) for ours, theirs in both.values()])
        for name, stats, scores, gain in (
            ("ArS", ars, [theirs for _, theirs in scored], None),
            (f"SpS K={plan.CHEN_K}", own, [ours - theirs for ours, theirs in scored], ratio),
        ):
            token_ms = 1000 * stats.decode_s / stats.generated_tokens
            rows.append([kind, name, mean(scores) if scores else None, token_ms, gain])
    return ResultTable("Chen et al. 2023, table 1", CHEN, rows, NOTES["chen"], bars=4)


def _alphas(answers: Sequence[RunAnswer]) -> list[tuple[str, str, Interval, float]]:
    """Return each draft's acceptance rate by task, and how often it proposes anything."""
    rows: list[tuple[str, str, Interval, float]] = []
    for kind in kinds(answers):
        for draft in plan.DRAFTS:
            own = sums(answers, f"{draft}=1", kind).values()
            if stats := [total.stats for total in own if total.stats.tested]:
                alpha = ratio_of_sums([(stat.accepted, stat.tested) for stat in stats])
                proposed = sum(stat.drafted for stat in stats) / sum(stat.rounds for stat in stats)
                rows.append((kind, draft, alpha, proposed))
    return rows


def _speeds(greedy: Sequence[RunAnswer], rates: Mapping[str, float]) -> list[list[Cell]]:
    """Return every lookahead of the model by task: the measured figures, and those of formulas."""
    rows: list[list[Cell]] = []
    for kind, alpha in rates.items():
        for k in plan.LOOKAHEADS:
            both = match_answers(greedy, f"model={k}", "ars", kind).values()
            if not any(own.stats.drafted for own, _ in both):
                continue
            own, ars = (together(side) for side in zip(*both, strict=True))
            stats, token_s = own.stats, ars.stats.decode_s / ars.stats.rounds
            cost_ratio = own.steps_s / stats.drafted / token_s
            batch_ratio = (stats.decode_s - stats.draft_s) / stats.rounds / token_s
            expected = expected_tokens(alpha, k)
            gain = geometric_mean([ours.speedup(theirs) for ours, theirs in both])
            theorem, with_batch = (expected / (k * cost_ratio + one) for one in (1, batch_ratio))
            rows.append([kind, str(k), stats.tokens_per_eval, expected, gain, theorem, with_batch])
    return rows


def _weights(answers: Sequence[RunAnswer], systems: Sequence[System]) -> list[list[Cell]]:
    """Return each way to run the model on the mixed prompts, other weights first."""
    files = [answer for answer in answers if plan.task_and_sampling(answer.kind)[1] == plan.FILES]
    rows: list[list[Cell]] = []
    first = ""
    for system in sorted(systems, key=lambda system: system.target is None):
        if own := sums(files, system.name):
            both = match_answers(files, system.name, first).values()
            ratios = [ours.speedup(theirs) for ours, theirs in both]
            first = first or system.name
            speeds = [totals.stats.tokens_per_s for totals in own.values()]
            stats, factor = together(own.values()).stats, geometric_mean(ratios) if ratios else None
            ends = min(speeds), max(speeds)
            name = f"{Path(system.target).stem} ars" if system.target else system.name
            rows.append([name, stats.tokens_per_s, factor, *ends, stats.acceptance_rate])
    return rows


def rouge_2(text: str, reference: str) -> float:
    """Return the F1 of the pairs of neighbouring words that both have.

    Lin 2004, without stemming: words are letters and digits, in small letters.
    """
    words = (re.findall(r"\w+", version.lower()) for version in (text, reference))
    ours, theirs = map(Counter, map(pairwise, words))
    common = (ours & theirs).total()
    return 2 * common / (ours.total() + theirs.total()) if common else 0.0
