"""The report of `specchat bench compare`: two runs side by side."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from assistant.lab.bench import run_file
from assistant.lab.bench.events import Measured
from assistant.lab.bench.intervals import Interval, geometric_mean
from assistant.lab.bench.report import Report, ReportTable, Section, bars, interval, number
from assistant.lab.bench.run_answers import (
    ALL,
    RunAnswer,
    kinds,
    matched,
    speedup,
    sums,
    together,
)
from assistant.stats import Stats
from models.errors import UsageError

FACTS = ("command", "settings", "machine", "versions", "files")
HEADER = ("kind", "system", "A, tokens/s", "B, tokens/s", "B / A [95 %]", "A, /eval", "B, /eval")
NOTE = (
    "Only answers to the same questions count; B / A is the geometric mean over them. "
    "/eval: tokens."
)


class ReportedAnswer(msgspec.Struct):
    """An answer in a report, as far as it is compared."""

    question: str
    kind: str
    repeat: int
    system: str
    stats: Stats | None = None

    @property
    def answer(self) -> RunAnswer:
        """The answer as its run had it; without a speed it failed."""
        stats = self.stats
        has_speed = stats is not None and stats.decode_s > 0 and stats.rounds > 0
        measured = Measured("", "", stats) if stats and has_speed else None
        return RunAnswer(self.question, self.kind, self.repeat, self.system, measured)


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A report: what it depended on, and its answers."""

    facts: Mapping[str, Any]
    answers: tuple[RunAnswer, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """How a system did in both runs on the questions of a kind."""

    kind: str
    system: str
    questions: int
    speeds: tuple[float, float]  # tokens per second
    ratio: Interval  # the second run's speed over the first one's
    per_eval: tuple[float, float]  # tokens per evaluation


def load(path: Path) -> ComparedRun:
    """Return what `--json` wrote.

    Raises:
        UsageError: it is something else.
    """
    try:
        facts = json.loads(path.read_text("utf-8"))
        found = msgspec.convert(facts["answers"], tuple[ReportedAnswer, ...], str_keys=True)
        facts = {name: dict(facts[name]) if name != "command" else facts[name] for name in FACTS}
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} is not a report; make one with: specchat bench prompts --json {path}"
        ) from error
    return ComparedRun(facts, tuple(each.answer for each in found))


def differences(a: ComparedRun, b: ComparedRun) -> list[Difference]:
    """Return each system's speeds on the questions that both runs have asked."""
    found: list[Difference] = []
    for kind in [*kinds(a.answers), ALL]:
        for system in dict.fromkeys(answer.system for answer in a.answers):
            both = matched(sums(a.answers, system), sums(b.answers, system), kind).values()
            if both:
                ours, theirs = (together(sides) for sides in zip(*both, strict=True))
                ratio = geometric_mean([speedup(second, first) for first, second in both])
                speeds = ours.stats.tokens_per_s, theirs.stats.tokens_per_s
                per_eval = ours.stats.tokens_per_eval, theirs.stats.tokens_per_eval
                found.append(Difference(kind, system, len(both), speeds, ratio, per_eval))
    return found


def report(a: ComparedRun, b: ComparedRun) -> tuple[Report, list[Difference]]:
    """Return the comparison.

    Raises:
        UsageError: the runs have no answer in common.
    """
    found = differences(a, b)
    if not found:
        raise UsageError("The two reports have no question and system in common.")
    rows = tuple(
        (
            each.kind,
            each.system,
            *(number(speed, 1) for speed in each.speeds),
            interval(each.ratio),
            *map(number, each.per_eval),
        )
        for each in found
    )
    table = ReportTable("B against A", HEADER, rows, NOTE, names=2)
    text = tuple(
        f"{where}: {json.dumps(ours)} in A, {json.dumps(theirs)} in B"
        for where, ours, theirs in run_file.differences(a.facts, b.facts)
    ) or ("Both ran with the same settings.",)
    ratios = ((each.kind, each.system, each.ratio) for each in found)
    plot = bars("Speed of B as a multiple of A's", "B / A", ratios, "same")
    section = Section("What differed", text, (table,), (plot,))
    return Report("Two runs compared, B against A", (section,)), found
