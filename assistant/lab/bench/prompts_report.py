"""The report of `specchat bench prompts`."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from assistant.lab.bench.intervals import Interval, geometric_mean
from assistant.lab.bench.prediction_report import predictions
from assistant.lab.bench.report import Report, ReportTable, Section, bars, interval, number, share
from assistant.lab.bench.run_answers import (
    ALL,
    RunAnswer,
    Totals,
    kinds,
    matched,
    speedup,
    sums,
    together,
)
from assistant.lab.bench.systems import System


@dataclass(frozen=True, slots=True)
class SystemStanding:
    """How a system did on the questions of a kind."""

    kind: str
    system: str
    questions: int
    tokens_per_s: float
    ratio: Interval | None  # to ArS: geometric mean over the questions
    worst: float | None  # the smallest ratio of a question
    tokens_per_eval: float
    acceptance_rate: float | None
    first_token_s: float  # mean
    predicted: float | None = None  # ratio, as the simulator has it
    in_lockstep: bool = True  # with ArS; else they answered one after another


def standings(
    answers: Sequence[RunAnswer],
    systems: Sequence[str],
    predicted: Mapping[tuple[str, str], float] | None = None,
) -> list[SystemStanding]:
    """Return each system's standing by kind, and on all questions together; ArS is the first.

    A question counts where both the system and ArS have answered it. `predicted` has ratios by
    kind and system.
    """
    by_system = {system: sums(answers, system) for system in systems}
    found: list[SystemStanding] = []
    for kind in [*kinds(answers), ALL]:
        for system, own in by_system.items():
            if both := matched(own, by_system[systems[0]], kind).values():
                ratios = [speedup(each, ars) for each, ars in both if system != systems[0]]
                promised = (predicted or {}).get((kind, system))
                found.append(_standing(kind, system, both, ratios, promised))
    return found


def _standing(
    kind: str,
    system: str,
    both: Collection[tuple[Totals, Totals]],
    ratios: Sequence[float],
    predicted: float | None,
) -> SystemStanding:
    own = together(each for each, _ in both)
    return SystemStanding(
        kind,
        system,
        len(both),
        own.stats.tokens_per_s,
        geometric_mean(ratios) if ratios else None,
        min(ratios, default=None),
        own.stats.tokens_per_eval,
        own.stats.acceptance_rate,
        fmean(each.stats.first_token_s for each in own.answers),
        predicted,
        all(each.is_lockstep for pair in both for each in pair),
    )


HEADER = (
    "kind",
    "system",
    "tokens/s",
    "× ArS [95 %]",
    "worst",
    "predicted",
    "per eval",
    "accepted",
)
CAVEAT = (
    "The systems advance together, a few tokens each in turn, so that changes in the machine's "
    "speed cancel out. "
    "× ArS compares the time up to the last token that both answers have, from the end of the "
    "prompt's reading on: the geometric mean over the prompts of a kind, with its 95 % bootstrap "
    "interval; "
    "worst is the smallest ratio of a prompt; predicted is what the simulator made of ArS's own "
    "answers and the cost curve, without having seen the system answer; "
    "per eval are tokens per evaluation of the target."
)
PLOT_NOTE = "Geometric mean over the prompts of a kind, and its 95 % bootstrap interval."
ALONE = "*"
CAVEAT_ALONE = (
    f" {ALONE} answers one prompt after another, and does not take turns with the rest. If the "
    "machine's speed changed meanwhile, that is in its ratio; the interval shows how much."
)


def report(
    answers: Sequence[RunAnswer], systems: Sequence[System], sources: Sequence[str]
) -> tuple[Report, list[SystemStanding]]:
    """Return what was measured, as a report and as figures; `sources` are the settings' own."""
    names = [system.name for system in systems]
    found = standings(answers, names, predictions(answers, systems, sources))
    ratios = [(each.kind, each.system, each.ratio) for each in found]
    plot = bars("Speed as a multiple of ArS", "× ArS", ratios, "ArS", PLOT_NOTE)
    section = Section(
        "Speed by kind of prompt",
        tuple(_sentences(answers, found)),
        (_table(found),),
        (plot,) if plot.series else (),
    )
    return Report("How fast answers come, by kind of prompt", (section,)), found


def _table(found: Sequence[SystemStanding]) -> ReportTable:
    rows = tuple(
        (
            each.kind,
            each.system + ("" if each.in_lockstep else ALONE),
            number(each.tokens_per_s, 1),
            interval(each.ratio),
            number(each.worst),
            number(each.predicted),
            number(each.tokens_per_eval),
            share(each.acceptance_rate),
        )
        for each in found
    )
    note = CAVEAT if all(each.in_lockstep for each in found) else CAVEAT + CAVEAT_ALONE
    return ReportTable("Tokens per second", HEADER, rows, note, names=2)


def _sentences(answers: Sequence[RunAnswer], found: Sequence[SystemStanding]) -> list[str]:
    overall = [each for each in found if each.kind == ALL and each.ratio]
    texts: list[str] = []
    if overall:
        best = max(overall, key=lambda each: each.ratio.value if each.ratio else 0.0)
        texts.append(
            f"Over all {best.questions} prompts {best.system} was the fastest beside ArS, at "
            f"{interval(best.ratio)} times its speed."
        )
    errors = [
        abs(each.predicted / each.ratio.value - 1)
        for each in overall
        if each.predicted is not None and each.ratio is not None
    ]
    if errors:
        texts.append(f"The simulator's prediction of that is within {max(errors):.0%}.")
    if failed := [answer for answer in answers if answer.failure]:
        reasons = sorted({answer.failure or "" for answer in failed})
        texts.append(f"{len(failed)} answers failed: {' '.join(reasons)}")
    return texts
