"""The report of `specchat bench prompts`."""

from collections.abc import Sequence

from assistant.lab.bench.prediction_report import predictions
from assistant.lab.bench.report import (
    Plot,
    Point,
    Report,
    Section,
    Series,
    Table,
    interval,
    number,
    share,
)
from assistant.lab.bench.run_answers import RunAnswer
from assistant.lab.bench.standings import ALL, SystemStanding, standings
from assistant.lab.bench.systems import System

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
    "The systems advance together, a few tokens each in turn, so that a machine's moods cancel. "
    "× ArS compares the time up to the last token that both answers have, from the end of the "
    "prompt's reading on: the geometric mean over the prompts of a kind, with its 95 % bootstrap "
    "interval; "
    "worst is the smallest ratio of a prompt; predicted is what the simulator made of ArS's own "
    "answers and the cost curve, without having seen the system answer; "
    "per eval are tokens per evaluation of the target."
)
ALONE = "*"
CAVEAT_ALONE = (
    f" {ALONE} answers one prompt after the other beside the rest, and not in turns with them: its "
    "ratio has what the machine did meanwhile in it, and the interval shows how much that was."
)


def report(
    answers: Sequence[RunAnswer], systems: Sequence[System], sources: Sequence[str]
) -> tuple[Report, list[SystemStanding]]:
    """Return what was measured, as a report and as figures; `sources` are the settings' own."""
    names = [system.name for system in systems]
    found = standings(answers, names, predictions(answers, systems, sources))
    section = Section(
        "Speed by kind of prompt",
        tuple(_sentences(answers, found)),
        (_table(found),),
        _plots(found),
    )
    return Report("How fast answers come, by kind of prompt", (section,)), found


def _table(found: Sequence[SystemStanding]) -> Table:
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
    return Table("Tokens per second", HEADER, rows, note, names=2)


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
        texts.append(f"{len(failed)} answers came to nothing: {' '.join(reasons)}")
    return texts


def _plots(found: Sequence[SystemStanding]) -> tuple[Plot, ...]:
    places = {kind: i for i, kind in enumerate(dict.fromkeys(each.kind for each in found))}
    systems = dict.fromkeys(each.system for each in found if each.ratio)
    series = tuple(
        Series(
            system,
            tuple(
                Point(places[each.kind], each.ratio.value, each.ratio.low, each.ratio.high)
                for each in found
                if each.system == system and each.ratio
            ),
            "bars",
        )
        for system in systems
    )
    if not series:
        return ()
    return (
        Plot(
            "Speed as a multiple of ArS",
            "",
            "× ArS",
            series,
            tuple(places),
            reference=1.0,
            reference_name="ArS",
            note="Geometric mean over the prompts of a kind, and its 95 % bootstrap interval.",
        ),
    )
