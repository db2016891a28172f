"""The report of `specchat bench compare`: two runs side by side."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from assistant.lab.bench.intervals import Interval, geometric_mean
from assistant.lab.bench.report import Plot, Point, Report, Section, Series, Table, interval, number
from models.errors import UsageError

FACTS = ("command", "settings", "machine", "versions", "files")
ALL = "all"
HEADER = ("kind", "system", "A, tokens/s", "B, tokens/s", "B / A [95 %]", "A, /eval", "B, /eval")
NOTE = "Answers to the same questions alone; B / A is the geometric mean over them. /eval: tokens."


class ComparedFigures(msgspec.Struct):
    """The figures of an answer that are compared."""

    generated_tokens: int
    decode_s: float
    rounds: int


class ReportedAnswer(msgspec.Struct):
    """An answer in a report."""

    question: str
    kind: str
    repeat: int
    system: str
    stats: ComparedFigures | None = None


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A report: what it depended on, and its answers."""

    facts: Mapping[str, Any]
    answers: tuple[ReportedAnswer, ...]


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
        answers = msgspec.convert(facts["answers"], tuple[ReportedAnswer, ...])
        facts = {name: dict(facts[name]) if name != "command" else facts[name] for name in FACTS}
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} is no report; make one with: specchat bench prompts --json {path}"
        ) from error
    return ComparedRun(facts, answers)


def differences(a: ComparedRun, b: ComparedRun) -> list[Difference]:
    """Return each system's speeds on the questions that both runs have asked."""
    found: list[Difference] = []
    ours, theirs = _sums(a), _sums(b)
    common = [place for place in ours if place in theirs]
    for kind in [*dict.fromkeys(place[0] for place in common), ALL]:
        for system in dict.fromkeys(place[2] for place in common):
            places = [p for p in common if p[2] == system and kind in (p[0], ALL)]
            if places:
                pairs = [(ours[place], theirs[place]) for place in places]
                found.append(_difference(kind, system, pairs))
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
    table = Table("B against A", HEADER, rows, NOTE, names=2)
    text = tuple(changes(a.facts, b.facts)) or ("Both ran with the same settings.",)
    section = Section("What differed", text, (table,), _plots(found))
    return Report("Two runs compared, B against A", (section,)), found


def changes(a: Any, b: Any, where: str = "") -> Iterator[str]:
    """Yield what is different between two values, part by part, in words."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for name in dict.fromkeys([*a, *b]):
            yield from changes(a.get(name), b.get(name), f"{where}, {name}" if where else name)
    elif a != b:
        yield f"{where}: {json.dumps(a)} in A, {json.dumps(b)} in B"


def _sums(side: ComparedRun) -> dict[tuple[str, str, str], tuple[float, float, float]]:
    """Return tokens, seconds and rounds by kind, question and system, repeats added up."""
    sums: dict[tuple[str, str, str], tuple[float, float, float]] = {}
    for each in side.answers:
        if each.stats and each.stats.decode_s > 0 and each.stats.rounds:
            place = each.kind, each.question, each.system
            tokens, seconds, rounds = sums.get(place, (0.0, 0.0, 0.0))
            stats = each.stats
            sums[place] = (
                tokens + stats.generated_tokens,
                seconds + stats.decode_s,
                rounds + stats.rounds,
            )
    return sums


Sums = tuple[float, float, float]


def _difference(kind: str, system: str, pairs: Sequence[tuple[Sums, Sums]]) -> Difference:
    def both(over: int) -> tuple[float, float]:
        a, b = (
            sum(pair[side][0] for pair in pairs) / sum(pair[side][over] for pair in pairs)
            for side in (0, 1)
        )
        return a, b

    ratios = [(b[0] / b[1]) / (a[0] / a[1]) for a, b in pairs]
    return Difference(kind, system, len(pairs), both(1), geometric_mean(ratios), both(2))


def _plots(found: Sequence[Difference]) -> tuple[Plot, ...]:
    places = {kind: i for i, kind in enumerate(dict.fromkeys(each.kind for each in found))}
    systems = dict.fromkeys(each.system for each in found)
    series = tuple(
        Series(
            system,
            tuple(
                Point(places[each.kind], each.ratio.value, each.ratio.low, each.ratio.high)
                for each in found
                if each.system == system
            ),
            "bars",
        )
        for system in systems
    )
    title = "Speed of B as a multiple of A's"
    return (Plot(title, "", "B / A", series, tuple(places), reference=1.0, reference_name="same"),)
