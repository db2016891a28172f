"""The report of `specchat bench predict`: the same answers on another machine."""

from collections.abc import Mapping, Sequence

from assistant.bench.answers import Answer
from assistant.bench.machines import Machine
from assistant.bench.report import NOTHING, Report, Section, Table, number
from assistant.bench.simulator import predictions
from assistant.bench.systems import System
from models.errors import UsageError

NOTE = (
    "Ratios to ArS on that machine, from what each source would have proposed along ArS's answers "
    "and from the machine's cost curve. The models, and so acceptance, are those of the run."
)


def report(
    answers: Sequence[Answer],
    systems: Sequence[System],
    sources: Sequence[str],
    machines: Mapping[str, Machine | None],
) -> tuple[Report, list[dict[str, object]]]:
    """Return predicted speeds by kind and system; None is the machine that the run was on.

    Raises:
        UsageError: the run has nothing to predict from.
    """
    found = {
        name: predictions(answers, systems, sources, machine) for name, machine in machines.items()
    }
    places = list(dict.fromkeys(place for each in found.values() for place in each))
    if not places:
        raise UsageError(
            "The run has no profiles of answers to predict from; it was made with --no-predict, or "
            "no system but ArS was asked for."
        )
    kinds = list(dict.fromkeys(kind for kind, _ in places))
    ordered = [place for kind in kinds for place in places if place[0] == kind]
    rows = tuple(
        (*place, *(number(each[place]) if place in each else NOTHING for each in found.values()))
        for place in sorted(ordered, key=lambda place: place[0] == "all")
    )
    table = Table("Predicted × ArS", ("kind", "system", *found), rows, NOTE, names=2)
    figures: list[dict[str, object]] = [
        {"machine": name, "kind": kind, "system": system, "ratio": ratio}
        for name, each in found.items()
        for (kind, system), ratio in each.items()
    ]
    section = Section("On other machines", (), (table,))
    return Report("How fast answers would come elsewhere", (section,)), figures
