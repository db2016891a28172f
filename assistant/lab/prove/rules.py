"""What enumeration says of each rule, by source and by what decides, and of each mistake."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from assistant.lab.prove.broken import MISTAKES
from assistant.lab.prove.coupling import MISTAKEN, DrawsFromTheResidual, brief, differing
from assistant.lab.prove.enumeration import RULES, cases
from assistant.lab.prove.events import Check


@dataclass(slots=True)
class EnumerationTotals:
    """What was enumerated of one kind."""

    laws: int = 0
    outcomes: int = 0
    furthest: Fraction = Fraction(0)

    def add(self, distance: Fraction, outcomes: int) -> None:
        """Add a law, how far from the target's it is, and how many outcomes it has."""
        self.laws += 1
        self.outcomes += outcomes
        self.furthest = max(self.furthest, distance)


def count(thorough: bool) -> int:
    """Return how many steps there are."""
    return 2 * len(list(cases(thorough))) + len(MISTAKES) + 1


def enumerated(thorough: bool) -> Iterator[Check | None]:
    """Yield None for each step, and at last the checks by rule, source and what decides."""
    sums: defaultdict[tuple[str, str, str], EnumerationTotals] = defaultdict(EnumerationTotals)
    for case in cases(thorough):
        for name, rule in RULES.items():
            sums[name, case.source, case.stop].add(*case.distance(rule))
        yield None
        sums["coupled", case.source, case.stop].add(*differing(brief(case)))
        yield None
    for kind, total in sums.items():
        figures = {
            "laws": total.laws,
            "outcomes": total.outcomes,
            "variation": float(total.furthest),
        }
        what = "{} rule, {}, {}".format(*kind)
        yield Check("enumeration", what, not total.furthest, figures)


def mistaken() -> Iterator[Check]:
    """Yield each mistake, and how far from the target's law it is; it holds if that was seen."""
    for mistake in MISTAKES:
        distance, _ = mistake.case.distance(mistake.rule)
        yield Check("mistakes", mistake.what, distance > 0, {"variation": float(distance)})
    share, _ = differing(MISTAKEN, DrawsFromTheResidual)
    what = "the coupled rule replaces a rejected one from the residual"
    yield Check("mistakes", what, share > 0, {"variation": float(share)})
