"""The papers' tables, with other models on another machine, from the answers of one run."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from assistant.decoding.lookahead.theory import expected_tokens
from assistant.lab.bench import plan, reports
from assistant.lab.bench.answers import RunAnswer, kinds, matched, sums, together
from assistant.lab.bench.reports import geometric_mean, mean, ratio_of_sums
from assistant.lab.table import Cell, Interval, ResultTable
from assistant.system import System

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
    answers: Sequence[RunAnswer], ways: Sequence[System], references: Mapping[str, str]
) -> list[ResultTable]:
    """Return all tables of answers to what `plan.paper_questions` yields.

    `references` are summaries to compare with, by the question's name.
    """
    greedy = [answer for answer in answers if plan.task_and_sampling(answer.kind)[1] == plan.GREEDY]
    swept = [way for way in ways if way.name == "ars" or way.sources == ("model",)]
    alphas = _alphas(answers)
    rates = {kind: alpha.value for kind, draft, alpha, _ in alphas if draft == "model"}
    title, weights = "Leviathan et al. 2023, table", _weights(answers, ways)
    return [
        _chen(answers, references),
        *reports.sweep(greedy, swept),
        ResultTable(f"{title} 3", ALPHA, alphas, reports.NOTES["alpha"], bars=2),
        ResultTable(f"{title} 2", SPEED, _speeds(greedy, rates), reports.NOTES["speed"], bars=4),
        ResultTable("Fewer bits, and speculation", WEIGHTS, weights, reports.NOTES["weights"], 1),
    ]


def _chen(answers: Sequence[RunAnswer], references: Mapping[str, str]) -> ResultTable:
    rows: list[list[Cell]] = []
    for kind in sorted(kinds(answers), key=lambda kind: plan.task_and_sampling(kind)[0]):
        both = matched(answers, SPS, "ars", kind)
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
    return ResultTable("Chen et al. 2023, table 1", CHEN, rows, reports.NOTES["chen"], bars=4)


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
    """Return every lookahead of the model by task: what was measured, and what formulas say."""
    rows: list[list[Cell]] = []
    for kind, alpha in rates.items():
        for k in plan.LOOKAHEADS:
            both = matched(greedy, f"model={k}", "ars", kind).values()
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


def _weights(answers: Sequence[RunAnswer], ways: Sequence[System]) -> list[list[Cell]]:
    """Return each way to run the model on the mixed prompts, other weights first."""
    files = [answer for answer in answers if plan.task_and_sampling(answer.kind)[1] == plan.FILES]
    rows: list[list[Cell]] = []
    first = ""
    for way in sorted(ways, key=lambda way: way.target is None):
        if own := sums(files, way.name):
            both = matched(files, way.name, first).values()
            ratios = [ours.speedup(theirs) for ours, theirs in both]
            first = first or way.name
            speeds = [totals.stats.tokens_per_s for totals in own.values()]
            stats, factor = together(own.values()).stats, geometric_mean(ratios) if ratios else None
            ends = min(speeds), max(speeds)
            name = f"{Path(way.target).stem} ars" if way.target else way.name
            rows.append([name, stats.tokens_per_s, factor, *ends, stats.acceptance_rate])
    return rows


def rouge_2(text: str, reference: str) -> float:
    """Return the F1 of the pairs of neighbouring words that both have.

    Lin 2004, without stemming: words are letters and digits, in small letters.
    """
    ours, theirs = (
        Counter(pairwise(re.findall(r"\w+", version.lower()))) for version in (text, reference)
    )
    common = (ours & theirs).total()
    return 2 * common / (ours.total() + theirs.total()) if common else 0.0
