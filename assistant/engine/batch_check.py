"""A check that an engine computes wide batches of a file correctly.

Engines have other kernels for many tokens than for few. Where one is wrong for a file, prompts are
misread and long drafts are verified against wrong rows. So each file is checked once. Checks raise
what `NativeModel.logits` raises.
"""

from pathlib import Path

import numpy as np

from assistant.decoding.model import Logits, Model
from assistant.engine.profile import PROFILES, probe_text
from models.files.disk import Records
from models.native.model import NativeModel

WIDE, NARROW = 64, 16  # tokens of the batches that are compared
ERROR = 0.25
"""The greatest mean distance between rows, relative to their length. Rounding gave 0.02 to 0.11
(most in gemma-3-270m with llama.cpp), one wrong matrix 0.29 and more, wrong kernels for all weights
0.4 to 1.1 (ik_llama.cpp 0.1.5 with Q4_1 and Q5_1)."""


def limit_batch(model: NativeModel, folder: Path | None) -> bool:
    """Limit a model's batches to `NARROW` tokens if wide ones give other logits.

    Return whether it did. The result for a file and an engine is saved in `folder`, if any.
    """
    records, key = Records(folder, PROFILES, bool), f"batches | {model.weights.conditions}"
    is_correct = records.get(key)
    if is_correct is None:
        # The first word waits for this; half as many tokens use the kernels for prompts, too.
        is_correct = error_of_wide_batches(model, WIDE // 2) < ERROR
        records.save(key, is_correct)
    if not is_correct:
        model.limit_batch(NARROW)
    return not is_correct


def error_of_wide_batches(model: Model, wide: int = WIDE, narrow: int = NARROW) -> float:
    """Return how far the rows of a batch of `wide` tokens are from those of `narrow` batches.

    It is the mean distance of two rows after the same token, relative to the length of the one from
    the narrow batch: 0 where they are equal, about 1.4 where they have nothing in common.
    """
    if model.n_ctx < 2 * narrow:
        return 0.0
    tokens = probe_text(min(wide, model.n_ctx) // narrow * narrow, model.n_vocab)
    ends = range(narrow, len(tokens) + 1, narrow)
    model.logits(tokens[1:2])  # clears the cache
    together = _centre(model.logits(tokens, min(len(tokens), model.max_rows)))
    model.logits(tokens[1:2])
    rows = [_centre(model.logits(tokens[:end], min(narrow, model.max_rows))) for end in ends]
    apart = np.concatenate(rows)[-len(together) :]
    lengths = np.linalg.norm(apart, axis=1)
    return float(np.mean(np.linalg.norm(together - apart, axis=1) / np.maximum(lengths, 1e-9)))


def _centre(logits: Logits) -> Logits:
    """Return a copy of rows, each less its mean, which has no effect on probabilities."""
    centred: Logits = logits - logits.mean(axis=1, keepdims=True)
    return centred
