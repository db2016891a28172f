"""Systems beside ArS on the same questions: the table of `specchat bench prompts`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assistant.lab.bench.intervals import Interval, geometric_mean
from assistant.lab.bench.run_answers import QuestionTotals, RunAnswer, kinds, speedup, sums

ALL = "all"


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
    in_lockstep: bool = True  # with ArS; else they answered one after the other


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
    reference = by_system[systems[0]]
    found: list[SystemStanding] = []
    for kind in [*kinds(answers), ALL]:
        for system in systems:
            both = [
                (sum_, reference[place])
                for place, sum_ in by_system[system].items()
                if place in reference and kind in (sum_.kind, ALL)
            ]
            if both:
                promised = (predicted or {}).get((kind, system))
                found.append(_standing(kind, system, both, promised))
    return found


def _standing(
    kind: str,
    system: str,
    both: Sequence[tuple[QuestionTotals, QuestionTotals]],
    predicted: float | None,
) -> SystemStanding:
    own = [sum_ for sum_, _ in both]
    ratios = [speedup(sum_, ars) for sum_, ars in both]
    is_reference = all(sum_ is ars for sum_, ars in both)

    def total(name: str) -> float:
        return sum(each.total(name) for each in own)

    return SystemStanding(
        kind,
        system,
        len(own),
        total("generated_tokens") / total("decode_s"),
        None if is_reference else geometric_mean(ratios),
        None if is_reference else min(ratios),
        total("generated_tokens") / total("rounds"),
        total("accepted") / total("tested") if total("tested") else None,
        total("first_token_s") / sum(len(each.answers) for each in own),
        predicted,
        all(sum_.is_lockstep for pair in both for sum_ in pair),
    )
