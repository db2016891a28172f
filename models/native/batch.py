"""A batch of tokens for a native library."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from models.native.engine import BATCH, SEQUENCE


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
        for i in range(size):
            self.struct.seq_id[i][0] = SEQUENCE

    def fill(self, tokens: Sequence[int], rows: int, position: int) -> None:
        """Put tokens, the first of them at a position; the last `rows` of them want logits."""
        count = self.struct.n_tokens = len(tokens)
        self._token[:count] = tokens
        self._position[:count] = np.arange(position, position + count)
        self._wants_logits[:count] = 0
        self._wants_logits[count - rows : count] = 1

    def is_within(self, n_vocab: int) -> bool:
        """Return whether all tokens are below `n_vocab`: others are read out of bounds."""
        tokens = self._token[: self.struct.n_tokens]
        return bool(tokens.min() >= 0 and tokens.max() < n_vocab)

    def close(self) -> None:
        """Free the arrays."""
        self._c.llama_batch_free(self.struct)
