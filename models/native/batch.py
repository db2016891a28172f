"""What one evaluation reads: tokens, their positions, and which of them want logits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

BATCH = 256  # tokens per evaluation of a long prompt: few enough to stop soon
SEQUENCE = 0  # the first one, and mostly the only one


@dataclass(frozen=True, slots=True)
class Part:
    """Tokens that are new to one sequence; the last `rows` of them want logits."""

    tokens: Sequence[int]
    rows: int
    sequence: int = SEQUENCE


class Batch:
    """A C batch of at most `BATCH` tokens, and numpy views over its arrays."""

    def __init__(self, c: Any) -> None:
        self._c, size = c, BATCH
        self.struct = c.llama_batch_init(size, 0, 1)
        view = np.ctypeslib.as_array
        self._token = view(self.struct.token, shape=(size,))
        self._position = view(self.struct.pos, shape=(size,))
        self._wants_logits = view(self.struct.logits, shape=(size,))
        view(self.struct.n_seq_id, shape=(size,))[:] = 1

    def fill(self, parts: Sequence[Part], positions: Sequence[int]) -> None:
        """Put parts one after another, the first token of each at its position."""
        self.struct.n_tokens = 0
        for part, position in zip(parts, positions, strict=True):
            self._add(part, position)

    def _add(self, part: Part, position: int) -> None:
        start = self.struct.n_tokens
        end = start + len(part.tokens)
        self._token[start:end] = part.tokens
        self._position[start:end] = np.arange(position, position + len(part.tokens))
        self._wants_logits[start:end] = 0
        self._wants_logits[end - part.rows : end] = 1
        for i in range(start, end):
            self.struct.seq_id[i][0] = part.sequence
        self.struct.n_tokens = end

    def is_within(self, n_vocab: int) -> bool:
        """Say whether all tokens are in a vocabulary; with others a library may read anywhere."""
        tokens = self._token[: self.struct.n_tokens]
        return bool(tokens.min() >= 0 and tokens.max() < n_vocab)

    def close(self) -> None:
        """Free the arrays."""
        self._c.llama_batch_free(self.struct)
