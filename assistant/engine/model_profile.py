"""The profile of a model on this machine: samples of its evaluations, and figures of answers.

Samples of a few seconds on a busy machine are uncertain; those of other machines are then the
better estimate. So both count, weighted by their precision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, inf, log, sqrt
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from assistant.decoding.lookahead.costs import is_curve

if TYPE_CHECKING:
    from models.native.model import NativeModel

LIMIT = 25  # samples of each number of tokens; the oldest is dropped first
NOISE, NOISE_WEIGHT = 0.08, 3
"""The usual standard deviation of a ratio on a machine at rest, in logarithms (0.05 to 0.1 were
observed), and how many samples that counts for."""
BUSY = 2.5
"""A ratio is not used if one token took this many times as long as on a calm machine.

Beside other programs each operation waits, whatever its width: then t(4), on a calm machine 2.3 of
t(1), was 1.2, and a draft's step not 0.25 but 0.6. With one thread instead of two, t(2) was 1.45
and not 1.17; replayed with such costs, decoding was 0.96 times as fast.
"""
FURTHEST = 8.0  # log odds of acceptance; a file with more than that is damaged
TYPICAL_ERROR = 0.3
"""The standard error of a typical ratio, in logarithms, from one machine to another."""
Ratios = Mapping[int, float]  # to one token of the target, by the number of tokens
BY_KERNELS: dict[tuple[str, str], Ratios] = {
    # Measured on processors with AVX2 and with AVX-512, two cores, 1.5B, context below 500.
    ("ik_llama.cpp", "Q4"): {2: 1.2, 3: 1.48, 4: 1.75, 8: 2.95, 16: 5.3, 32: 9.8},
    ("llama.cpp", "Q4"): {2: 1.7, 3: 2.4, 4: 2.6, 8: 5.4, 16: 8.7, 32: 15.9},
    ("llama.cpp", "F16"): {2: 1.1, 3: 1.23, 4: 1.53, 8: 2.2, 16: 3.8, 32: 7.1},
    ("llama.cpp", "Q8"): {2: 1.5, 3: 2.4, 4: 2.3, 8: 3.8, 16: 6.9, 32: 13.1},
}
STEP = 1.15
"""A draft step relative to its share of the target's bytes: it does more than read weights."""
PREFILL = {1: 1.0, 2: 1.3, 8: 3.2, 64: 20.0}  # of a draft, relative to one token of it


@dataclass(slots=True, eq=False)
class ModelProfile:
    """The profile of a target, or of a draft beside its target.

    Samples are timed evaluations, as ratios to those of one token of the target.
    """

    plain_s: list[float] = field(default_factory=list)  # of one token of the target
    ratios: dict[int, list[float]] = field(default_factory=dict)  # by tokens, the newest last
    typical: dict[int, float] = field(default_factory=dict)  # by tokens
    token_s: float = 0.0
    """Of a target: seconds of one token in the last answer; 0 if there was none."""
    prompt_token_s: float = 0.0
    """Of a target: seconds per token of the last long prompt; 0 if there was none."""
    acceptance: dict[str, float] = field(default_factory=dict)
    """How much better or worse sources did than usual, in log odds, by name."""

    def add(self, tokens: int, ratio: float, plain_s: float, has_all_cores: bool = True) -> bool:
        """Add a sample, and the seconds of one token of the target beside it.

        Return whether the machine was as calm as it usually is. If it was not, the ratio is added
        only if nothing else is known of its number of tokens.
        """
        self.plain_s = [*self.plain_s, plain_s][-LIMIT:]
        usual_s = sorted(self.plain_s)[len(self.plain_s) // 4]
        is_calm = has_all_cores and plain_s <= BUSY * usual_s
        if is_calm or not {tokens} & {*self.ratios, *self.typical}:
            self.ratios[tokens] = [*self.ratios.get(tokens, ()), ratio][-LIMIT:]
        return is_calm

    @property
    def seconds(self) -> dict[int, float]:
        """The seconds of each number of tokens of which anything is known."""
        plain_s = median(self.plain_s)
        return {n: plain_s * self.estimate(n)[0] for n in sorted({*self.ratios, *self.typical})}

    def estimate(self, tokens: int) -> tuple[float, float]:
        """Return the estimated ratio, and its relative standard error.

        It is the mean of the samples' median and the typical ratio, weighted by precision.
        """
        logs = [log(ratio) for ratio in self.ratios.get(tokens, ())]
        typical = self.typical.get(tokens)
        if not logs:
            return (typical, TYPICAL_ERROR) if typical else (1.0, inf)
        middle, count = median(logs), len(logs)
        squares = sum((value - middle) ** 2 for value in logs)
        noise = (NOISE_WEIGHT * NOISE**2 + squares) / (NOISE_WEIGHT + count - 1)
        error = 1.25 * sqrt(noise / count)  # of a median, 1.25 times that of a mean
        if not typical:
            return exp(middle), error
        weight = TYPICAL_ERROR**2 / (TYPICAL_ERROR**2 + error**2)
        return exp(weight * middle + (1 - weight) * log(typical)), error * sqrt(weight)

    def error(self, tokens: int) -> float:
        """Return the error of an estimate; 0 where more samples would hardly reduce it."""
        return 0.0 if len(self.ratios.get(tokens, ())) == LIMIT else self.estimate(tokens)[1]

    @property
    def is_valid(self) -> bool:
        """Whether these values can have been measured: a file may contain anything."""
        values = [*self.plain_s, *(ratio for ratios in self.ratios.values() for ratio in ratios)]
        are_positive = all(0 < value < inf for value in (*values, *self.typical.values()))
        is_plausible = all(abs(odds) < FURTHEST for odds in self.acceptance.values())
        are_positive &= 0 <= self.token_s < inf and 0 <= self.prompt_token_s < inf
        is_complete = bool(self.plain_s) and all(self.ratios.values())
        return is_complete and are_positive and is_plausible and is_curve(self.seconds)


def typical_costs(
    target: NativeModel, draft: Path | None
) -> tuple[dict[int, float], dict[int, float]]:
    """Return the typical ratios of a target and the file of its draft; empty: none are known."""
    engine, file_type = target.weights.engine, target.weights.header.file_type or ""
    if engine.offloads_to_gpu:
        return {}, {}
    verify = dict(BY_KERNELS.get((engine.title, file_type.partition("_")[0]), {}))
    if draft is None or not draft.is_file():
        return verify, {}
    share = draft.stat().st_size / target.weights.path.stat().st_size
    return verify, {n: STEP * share * ratio for n, ratio in PREFILL.items()}
