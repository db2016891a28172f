"""How fast the answers of a run would come on another machine, and the report that says so."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import geometric_mean

from assistant.lab.bench.report import MISSING, Report, ReportTable, Section, number
from assistant.lab.bench.run_answers import ALL, RunAnswer
from assistant.lab.bench.simulator import Machine, Simulator
from assistant.lab.bench.systems import System
from assistant.request import USUAL_SOURCES
from models.errors import UsageError

NOTE = (
    "Ratios to ArS on that machine, from what each source would have proposed along ArS's answers "
    "and from the machine's cost curve. The models, and so acceptance, are those of the run."
)


def report(
    answers: Sequence[RunAnswer],
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
        (*place, *(number(each[place]) if place in each else MISSING for each in found.values()))
        for place in sorted(ordered, key=lambda place: place[0] == ALL)
    )
    table = ReportTable("Predicted × ArS", ("kind", "system", *found), rows, NOTE, names=2)
    figures: list[dict[str, object]] = [
        {"machine": name, "kind": kind, "system": system, "ratio": ratio}
        for name, each in found.items()
        for (kind, system), ratio in each.items()
    ]
    section = Section("On other machines", (), (table,))
    return Report("How fast answers would come elsewhere", (section,)), figures


def predictions(
    answers: Sequence[RunAnswer],
    systems: Sequence[System],
    sources: Sequence[str] = USUAL_SOURCES,
    machine: Machine | None = None,
) -> dict[tuple[str, str], float]:
    """Return the predicted ratios to ArS by kind and system, from ArS's own answers.

    Without a machine it is the one that they were given on: its curve as it was before them, in the
    measure of how long their tokens took.
    """
    asked = [each for each in answers if each.measured and each.measured.profile]
    here = machine or _here(asked, systems[0].name)
    if here is None:
        return {}
    found: dict[tuple[str, str], float] = {}
    for system in systems:
        if system.target or system.mode == "ars":
            continue
        simulator = Simulator(system, here, sources)
        ratios: dict[str, list[float]] = {}
        for each in asked:
            if each.measured and each.measured.profile:
                replayed = simulator.replay(each.measured.profile)
                ratio = replayed.tokens_per_s * (here.verify[1] + here.host_s)
                ratios.setdefault(each.kind, []).append(ratio)
                ratios.setdefault(ALL, []).append(ratio)
        found |= {(kind, system.name): geometric_mean(each) for kind, each in ratios.items()}
    return found


def _here(answers: Sequence[RunAnswer], ars: str) -> Machine | None:
    """Return the machine that ArS's answers were given on."""
    stats = [each.measured.stats for each in answers if each.system == ars and each.measured]
    found = (each.measured.costs for each in answers if each.measured)
    costs = next((each for each in found if each), None)
    rounds = sum(each.rounds for each in stats)
    if costs is None or not rounds:
        return None
    target_s = sum(each.verify_s for each in stats) / rounds
    host_s = sum(each.host_s for each in stats) / rounds
    here = Machine(costs.verify, costs.draft).scaled(target_s / costs.verify[1])
    return replace(here, host_s=host_s)
