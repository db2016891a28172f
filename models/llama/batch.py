"""What one evaluation reads: tokens, their positions, and which of them want logits."""

from collections.abc import Sequence
from dataclasses import dataclass

import llama_cpp.llama_cpp as llama
import numpy as np

SEQUENCE = 0  # the first one, and mostly the only one


@dataclass(frozen=True, slots=True)
class Part:
    """Tokens that are new to one sequence; the last `rows` of them want logits."""

    tokens: Sequence[int]
    rows: int
    sequence: int = SEQUENCE


class Batch:
    """A llama.cpp batch of at most `size` tokens, and numpy views over its arrays."""

    def __init__(self, size: int) -> None:
        self.struct = llama.llama_batch_init(size, 0, 1)
        view = np.ctypeslib.as_array
        self._token = view(self.struct.token, shape=(size,))
        self._position = view(self.struct.pos, shape=(size,))
        self._wants_logits = view(self.struct.logits, shape=(size,))
        view(self.struct.n_seq_id, shape=(size,))[:] = 1

    def fill(self, parts: Sequence[Part], positions: Sequence[int]) -> None:
        """Put parts one behind the other, the first token of each at its position."""
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

    def close(self) -> None:
        """Free the arrays."""
        llama.llama_batch_free(self.struct)
