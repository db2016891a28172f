"""Qualcomm's comparison: weights of fewer bits, speculation, and both; and memory's ceiling."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assistant.lab.bench.intervals import Interval, geometric_mean
from assistant.lab.bench.paper.plan import CHEN_K, FILES, parts
from assistant.lab.bench.report import (
    Plot,
    Point,
    ReportTable,
    Section,
    Series,
    interval,
    number,
    sentence,
    share,
)
from assistant.lab.bench.run_answers import (
    Place,
    RunAnswer,
    Totals,
    matched,
    speedup,
    sums,
    together,
)
from assistant.lab.bench.systems import System
from models.files.gguf_files import is_label

CEILING = ("way", "GB/token", "ceiling", "tokens/s", "best prompt", "of ceiling")
CEILING_NOTE = (
    "GB/token: what one evaluation of the target reads, the file's size. Ceiling, in tokens/s: "
    "measured memory bandwidth over that, which one-token decoding cannot exceed. Speculation can: "
    "it reads the weights once for several tokens."
)


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A way to run the model, over all prompts."""

    name: str
    tokens_per_s: float
    slowest: float  # of a prompt
    fastest: float
    factor: Interval | None  # against the first column


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A way to run the model against memory's bandwidth."""

    name: str
    size: int  # bytes of the target's file
    ceiling: float  # tokens per second
    tokens_per_s: float
    fastest: float  # of a prompt


def columns(answers: Sequence[RunAnswer], ways: Sequence[System], label: str) -> list[FileColumn]:
    """Return every way on the mixed prompts, the widest weights first.

    `label` is what the target's own weights are called.
    """
    names = _names(ways, label)
    mixed = [answer for answer in answers if parts(answer.kind)[1] == FILES]
    by_system = {system: sums(mixed, system) for system in names}
    first = next((each for each in by_system.values() if each), {})
    return [
        _column(names[system], own, first) for system, own in by_system.items() if own and first
    ]


def section(
    answers: Sequence[RunAnswer], ways: Sequence[System], label: str
) -> tuple[Section, list[FileColumn]]:
    """Return the columns, their factors, and acceptance by kind of prompt."""
    found = columns(answers, ways, label)
    rows = tuple(
        (
            each.name,
            number(each.tokens_per_s, 1),
            f"{each.slowest:.1f} to {each.fastest:.1f}",
            interval(each.factor),
        )
        for each in found
    )
    header = ("weights and method", "tokens/s", "range over prompts", "factor [95 %]")
    tables = (ReportTable("Quantisation and speculation", header, rows), _by_kind(answers))
    text: list[str] = []
    if len(found) > 1:
        best = max(found[1:], key=lambda each: each.factor.value if each.factor else 0.0)
        text = [f"{best.name} is {interval(best.factor)} times as fast as {found[0].name}."]
    if not any(way.target for way in ways):
        text.append(
            "No other file of the target is on this machine; name some with --files, or put a "
            "16-bit one beside it, and the first column appears."
        )
    points = (
        Point(i, each.tokens_per_s, each.slowest, each.fastest) for i, each in enumerate(found)
    )
    bars = Series("tokens/s", tuple(points), "bars")
    plot = Plot(
        "Tokens per second",
        "",
        "tokens/s",
        (bars,),
        tuple(each.name for each in found),
        note="The bars' intervals are the slowest and the fastest prompt.",
    )
    return Section("Qualcomm: fewer bits, and speculation", tuple(text), tables, (plot,)), found


def ceilings(
    found: Sequence[FileColumn], sizes: Mapping[str, int], bytes_per_s: float
) -> tuple[Section, list[Ceiling]]:
    """Return how near to memory's bandwidth every way comes; `sizes` are by column."""
    lines = [
        Ceiling(
            each.name,
            sizes[each.name],
            bytes_per_s / sizes[each.name],
            each.tokens_per_s,
            each.fastest,
        )
        for each in found
    ]
    rows = tuple(
        (
            each.name,
            number(each.size / 1e9),
            number(each.ceiling, 1),
            number(each.tokens_per_s, 1),
            number(each.fastest, 1),
            share(each.tokens_per_s / each.ceiling),
        )
        for each in lines
    )
    above = [each.name for each in lines if each.tokens_per_s > each.ceiling]
    verdict = (
        f"{sentence(above)} went beyond it." if above else "Nothing went beyond it on average."
    )
    text = (
        f"Memory is read at {bytes_per_s / 1e9:.1f} GB/s, which limits plain decoding. {verdict}",
    )
    table = ReportTable("Tokens per second against bandwidth", CEILING, rows, CEILING_NOTE)
    return Section("Memory-bandwidth ceiling", text, (table,)), lines


def _names(ways: Sequence[System], label: str) -> dict[str, str]:
    """Return what the ways of the comparison are called, in the order of the columns."""
    others = {way.name: f"{_called(way.target)} ArS" for way in ways if way.target}
    own = {"ars": "ArS", f"model={CHEN_K}": f"SpS K={CHEN_K}", "auto": "auto"}
    return {**others, **{system: f"{label} {name}" for system, name in own.items()}}


def _called(target: str) -> str:
    """Return the name of a quantisation, or of a file without where it is."""
    return target.upper() if is_label(target) else Path(target).stem


def sizes(ways: Sequence[System], label: str, files: Mapping[str, int]) -> dict[str, int]:
    """Return the size of the target's file of each column; `files` are sizes by role."""
    names = _names(ways, label)
    roles = {way.name: way.target or "target" for way in ways}
    return {name: files[roles[system]] for system, name in names.items()}


def _column(name: str, own: Mapping[Place, Totals], first: Mapping[Place, Totals]) -> FileColumn:
    speeds = [each.stats.tokens_per_s for each in own.values()]
    both = [speedup(*pair) for pair in matched(own, first).values()]
    factor = None if own is first or not both else geometric_mean(both)
    whole = together(own.values())
    return FileColumn(name, whole.stats.tokens_per_s, min(speeds), max(speeds), factor)


def _by_kind(answers: Sequence[RunAnswer]) -> ReportTable:
    by_task: dict[str, list[Totals]] = {}
    for (kind, _), each in sums(answers, f"model={CHEN_K}").items():
        task, arm = parts(kind)
        if arm == FILES:
            by_task.setdefault(task, []).append(each)
    whole = {task: together(each) for task, each in by_task.items()}
    return ReportTable(
        f"Acceptance by kind of prompt, K = {CHEN_K}",
        ("kind", "accepted", "tokens/eval"),
        tuple(
            (task, share(own.stats.acceptance_rate), number(own.stats.tokens_per_eval))
            for task, own in whole.items()
        ),
    )
