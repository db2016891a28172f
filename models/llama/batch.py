"""What one evaluation reads: tokens, their positions, and which of them want logits."""

from collections.abc import Sequence

import llama_cpp.llama_cpp as llama
import numpy as np

SEQUENCE = 0  # the only one there is


class Batch:
    """A llama.cpp batch of at most `size` tokens, and numpy views over its arrays."""

    def __init__(self, size: int) -> None:
        self.struct = llama.llama_batch_init(size, 0, 1)
        view = np.ctypeslib.as_array
        self._token = view(self.struct.token, shape=(size,))
        self._position = view(self.struct.pos, shape=(size,))
        self._wants_logits = view(self.struct.logits, shape=(size,))
        view(self.struct.n_seq_id, shape=(size,))[:] = 1
        for i in range(size):
            self.struct.seq_id[i][0] = SEQUENCE

    def fill(self, tokens: Sequence[int], position: int, rows: int) -> None:
        """Put `tokens` behind `position` others, and ask for logits of the last `rows`."""
        count = len(tokens)
        self._token[:count] = tokens
        self._position[:count] = np.arange(position, position + count)
        self._wants_logits[:count] = 0
        self._wants_logits[count - rows : count] = 1
        self.struct.n_tokens = count

    def close(self) -> None:
        """Free the arrays."""
        llama.llama_batch_free(self.struct)
