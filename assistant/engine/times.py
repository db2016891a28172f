"""What is known of the costs of evaluations: what was seen, and what is typical.

A first look of a few seconds on a busy machine tells little; what other machines showed is then
nearer to the truth than chance. So both count, weighed by how certain they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import exp, hypot, inf, log, sqrt
from statistics import median
from typing import TYPE_CHECKING

from assistant.decoding.lookahead.costs import is_curve

if TYPE_CHECKING:
    from models.native.model import NativeModel

KEPT = 25  # ratios kept of each width; the oldest goes first
NOISE = 0.08
"""The usual deviation of one ratio on a machine at rest, in logarithms; 0.05 to 0.1 were seen."""
FEW = 3
"""As many observations this counts, and the deviation of all ratios counts for one width."""
TYPICAL_ERROR = 0.3
"""The same of what is typical of an engine and its weights, from one machine to another."""
Ratios = Mapping[int, float]  # to one token of the target, by the number of tokens
BY_KERNELS: dict[tuple[str, str], Ratios] = {
    # Measured on processors with AVX2 and with AVX-512, two cores, 1.5B, context below 500.
    ("ik_llama.cpp", "Q4"): {2: 1.2, 3: 1.48, 4: 1.75, 8: 2.95, 16: 5.3, 32: 9.8},
    ("llama.cpp", "Q4"): {2: 1.7, 3: 2.4, 4: 2.6, 8: 5.4, 16: 8.7, 32: 15.9},
    ("llama.cpp", "F16"): {2: 1.1, 3: 1.23, 4: 1.53, 8: 2.2, 16: 3.8, 32: 7.1},
    ("llama.cpp", "Q8"): {2: 1.5, 3: 2.4, 4: 2.3, 8: 3.8, 16: 6.9, 32: 13.1},
}
STEP = 1.15
"""A draft's step against its share of the target's bytes; it has more to do beside the weights."""
READING = {1: 1.0, 2: 1.3, 8: 3.2, 64: 20.0}  # what it takes for more tokens, against one


@dataclass(slots=True)
class Times:
    """The seconds of evaluations by their tokens, as ratios to those of one token of the target."""

    plain: list[float]  # seconds of one token of the target, newest last
    ratios: dict[int, list[float]]  # what was seen, by the number of tokens, newest last
    typical: dict[int, float] = field(default_factory=dict)
    """What is usual with such weights: it counts as long as little was seen, or much noise."""
    calm_s: float = 0.0
    """Seconds of one token in an answer, where they were far fewer: what was seen beside other
    programs tells little. 0 where that is not so."""

    @property
    def seconds(self) -> dict[int, float]:
        """The seconds of each number of tokens that anything is known of."""
        plain_s = median(self.plain)
        return {n: plain_s * self.ratio(n)[0] for n in sorted({*self.ratios, *self.typical})}

    def ratio(self, tokens: int) -> tuple[float, float]:
        """Return the ratio that is believed, and its relative standard error.

        It is the median of what was seen and what is typical, weighed by their precision.
        """
        logs = [log(each) for each in self.ratios.get(tokens, ())]
        typical = self.typical.get(tokens)
        if not logs:
            return (typical, TYPICAL_ERROR) if typical else (1.0, inf)
        middle = median(logs)
        deviation = 1.48 * median(abs(each - middle) for each in logs)  # as of a normal law
        variance = (FEW * self._noise**2 + len(logs) * deviation**2) / (FEW + len(logs))
        error = 1.25 * sqrt(variance / len(logs))  # of a median, 1.25 times that of a mean
        error = hypot(error, max(0.0, log(median(self.plain) / self.calm_s)) if self.calm_s else 0)
        if not typical:
            return exp(middle), error
        trust = TYPICAL_ERROR**2 / (TYPICAL_ERROR**2 + error**2)
        return exp(trust * middle + (1 - trust) * log(typical)), error * sqrt(trust)

    @property
    def _noise(self) -> float:
        """The deviation of one ratio, in logarithms, by how calm one token was beside them all.

        Each reading is the mean of the evaluations before and after a look, and shares one of them
        with the next. So the variance of their difference is half that of one evaluation; a ratio's
        is one and a half times that, since it divides one evaluation by the mean of two.
        """
        steps = [abs(log(after / before)) for before, after in pairwise(self.plain)]
        measured = sqrt(3) * 1.48 * median(steps) if steps else 0.0
        return sqrt((FEW * NOISE**2 + len(steps) * measured**2) / (FEW + len(steps)))

    def is_known(self, tokens: int) -> bool:
        """Say whether anything is known of so many tokens."""
        return tokens in self.ratios or tokens in self.typical

    def saw(self, tokens: int, ratio: float, plain_s: float) -> None:
        """Take a measurement."""
        for kept, seen in (self.plain, plain_s), (self.ratios.setdefault(tokens, []), ratio):
            kept.append(seen)
            del kept[:-KEPT]

    @property
    def is_sound(self) -> bool:
        """Whether these can be times: what a file says may be anything."""
        seen = [*self.plain, *(each for ratios in self.ratios.values() for each in ratios)]
        are_numbers = all(0 < each < inf for each in (*seen, *self.typical.values()))
        is_whole = bool(self.plain) and all(self.ratios.values())
        return is_whole and are_numbers and is_curve(self.seconds)


def nothing_seen(typical: Mapping[int, float], *known: int) -> Times:
    """Return the times of a model that was never measured; `known` widths are of ratio 1."""
    return Times([], {width: [1.0] for width in known}, dict(typical))


def typical_costs(target: NativeModel, draft: NativeModel | None) -> tuple[Ratios, Ratios]:
    """Return what the target and the draft usually take; empty where that is not known."""
    engine, file_type = target.weights.engine, target.weights.header.file_type or ""
    if engine.offloads_to_gpu:
        return {}, {}
    verify = BY_KERNELS.get((engine.title, file_type.partition("_")[0]), {})
    if draft is None:
        return verify, {}
    share = draft.weights.path.stat().st_size / target.weights.path.stat().st_size
    return verify, {n: STEP * share * each for n, each in READING.items()}
