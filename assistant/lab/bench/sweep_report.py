"""The report of `specchat bench sweep`: what each lookahead comes to (Chen et al. 2023, fig. 1)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from assistant.lab.bench.report import (
    Plot,
    Point,
    Report,
    ReportTable,
    Section,
    Series,
    number,
    share,
)
from assistant.lab.bench.run_answers import RunAnswer, Totals, kinds, sums, together
from assistant.lab.bench.systems import System

TIMED_TOKENS = 128
"""Tokens whose time is given."""
HEADER = ("task", "K", "128 tokens, s", "deviation", "yield", "loop, ms", "draft, ms", "accepted")
NOTE = (
    "128 tokens: mean time over the answers and its standard deviation; yield: tokens of a round "
    "over K + 1; loop: one round; draft: of it, in the draft. The draft's reading of the prompt "
    "is in the first column alone."
)


@dataclass(frozen=True, slots=True)
class LookaheadStep:
    """What a lookahead came to on the questions of a kind."""

    kind: str
    lookahead: int
    answers: int
    seconds: float  # for 128 tokens, mean over the answers
    deviation: float | None  # standard, over the answers
    yielded: float  # tokens of a round over K + 1
    loop_s: float  # a round
    draft_s: float  # of it, in the draft
    acceptance_rate: float | None


def steps(answers: Sequence[RunAnswer], systems: Sequence[System]) -> list[LookaheadStep]:
    """Return what each lookahead came to, by kind; ArS has 0."""
    return [
        _step(kind, system.lookahead or 0, each)
        for kind in kinds(answers)
        for system in systems
        if (each := [s for place, s in sums(answers, system.name).items() if place[0] == kind])
    ]


def report(
    answers: Sequence[RunAnswer], systems: Sequence[System]
) -> tuple[Report, list[LookaheadStep]]:
    """Return the table and the three plots of the figure."""
    found = steps(answers, systems)
    texts = tuple(_best(kind, found) for kind in kinds(answers))
    section = Section("Lookahead sweep", texts, (table(found),), plots(found))
    return Report("How fast answers come, by lookahead", (section,)), found


def table(found: Sequence[LookaheadStep]) -> ReportTable:
    """Return a line for each lookahead."""
    rows = tuple(
        (
            each.kind,
            str(each.lookahead),
            number(each.seconds),
            number(each.deviation),
            number(each.yielded),
            number(1000 * each.loop_s, 1),
            number(1000 * each.draft_s, 1),
            share(each.acceptance_rate),
        )
        for each in found
    )
    return ReportTable("By lookahead", HEADER, rows, NOTE, names=2)


def plots(found: Sequence[LookaheadStep]) -> tuple[Plot, ...]:
    """Return Chen et al.'s figure 1."""
    return (
        Plot(
            "Mean time for 128 tokens",
            "tokens proposed per round, K",
            "seconds",
            _series(found, lambda each: each.seconds, deviates=True),
            note="Bars: standard deviation over the answers. K = 0 is ArS.",
        ),
        Plot(
            "Yield: tokens of a round over K + 1",
            "tokens proposed per round, K",
            "share of K + 1",
            _series(found, lambda each: each.yielded),
        ),
        Plot(
            "Time of a round",
            "tokens proposed per round, K",
            "milliseconds",
            _series(found, lambda each: 1000 * each.loop_s),
        ),
    )


def _series(
    found: Sequence[LookaheadStep], value: Callable[[LookaheadStep], float], deviates: bool = False
) -> tuple[Series, ...]:
    points: dict[str, list[Point]] = {}
    for each in found:
        y, away = value(each), each.deviation if deviates else None
        ends = (max(0.0, y - away), y + away) if away else (None, None)
        points.setdefault(each.kind, []).append(Point(each.lookahead, y, *ends))
    return tuple(Series(kind, tuple(each)) for kind, each in points.items())


def _step(kind: str, lookahead: int, answers: Sequence[Totals]) -> LookaheadStep:
    seconds = [TIMED_TOKENS / each.stats.tokens_per_s for each in answers]
    own = together(answers)
    stats = own.stats
    return LookaheadStep(
        kind,
        lookahead,
        len(seconds),
        fmean(seconds),
        stdev(seconds) if len(seconds) > 1 else None,
        stats.tokens_per_eval / (lookahead + 1),
        (stats.decode_s - stats.draft_s + own.steps_s) / stats.rounds,
        own.steps_s / stats.rounds,
        stats.acceptance_rate,
    )


def _best(kind: str, found: Sequence[LookaheadStep]) -> str:
    here = [each for each in found if each.kind == kind]
    best = min(here, key=lambda each: each.seconds)
    ars = next((each for each in here if each.lookahead == 0), best)
    if best.lookahead == 0:
        return f"{kind}: no lookahead was faster than ArS."
    factor = ars.seconds / best.seconds
    return f"{kind}: K = {best.lookahead} was fastest, at {factor:.2f} times the speed of ArS."
