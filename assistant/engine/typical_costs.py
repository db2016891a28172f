"""What evaluations usually take with an engine and its kernels, before anything was measured.

A first look of two seconds on a busy machine tells little; what other machines showed is then
nearer to the truth than chance. Ratios to one token of the target, by the number of tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models.native.heads import HeadModel
    from models.native.model import NativeModel

Ratios = Mapping[int, float]
_BY_KERNELS: dict[tuple[str, str], Ratios] = {
    # Measured on processors with AVX2 and with AVX-512, two cores, 1.5B, context below 500.
    ("ik_llama.cpp", "Q4"): {2: 1.2, 3: 1.48, 4: 1.75, 8: 2.95, 16: 5.3, 32: 9.8},
    ("llama.cpp", "Q4"): {2: 1.7, 3: 2.4, 4: 2.6, 8: 5.4, 16: 8.7, 32: 15.9},
    ("llama.cpp", "F16"): {2: 1.1, 3: 1.23, 4: 1.53, 8: 2.2, 16: 3.8, 32: 7.1},
    ("llama.cpp", "Q8"): {2: 1.5, 3: 2.4, 4: 2.3, 8: 3.8, 16: 6.9, 32: 13.1},
}
STEP = 1.15
"""A draft's step against its share of the target's bytes; it has more to do beside the weights."""
READING = {1: 1.0, 2: 1.3, 8: 3.2, 64: 20.0}
"""What it takes for more tokens, against one."""


def typical_costs(
    target: NativeModel, draft: NativeModel | HeadModel | None
) -> tuple[Ratios, Ratios]:
    """Return what the target and the draft usually take; empty where that is not known."""
    engine, file_type = target.weights.engine, target.weights.header.file_type or ""
    if engine.offloads_to_gpu:
        return {}, {}
    verify = _BY_KERNELS.get((engine.title, file_type.partition("_")[0]), {})
    if draft is None or draft.weights is target.weights:
        return verify, {}
    share = draft.weights.path.stat().st_size / target.weights.path.stat().st_size
    return verify, {n: STEP * share * each for n, each in READING.items()}
