"""What one evaluation reads: tokens, their positions, and which of them want logits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from models.base import Logits

BATCH = 256  # tokens per evaluation of a long prompt: few enough to stop soon
SEQUENCE = 0  # the first one, and mostly the only one


@dataclass(frozen=True, slots=True)
class Part:
    """Tokens that are new to one sequence; the last `rows` of them want logits."""

    tokens: Sequence[int]
    rows: int
    sequence: int = SEQUENCE
    states: Logits | None = None
    """For heads: a row for each token, of the token before it; see `models.native.states`."""


class Batch:
    """A C batch of at most `BATCH` tokens, and numpy views over its arrays.

    `state_width` is how many numbers the state of a token has, where tokens come with one.
    """

    def __init__(self, c: Any, state_width: int = 0) -> None:
        self._c, size = c, BATCH
        self.struct = c.llama_batch_init(size, state_width, 1)
        view = np.ctypeslib.as_array
        self._states = None
        if state_width:  # then C has made no room for tokens
            self._tokens = (c.llama_token * size)()
            self.struct.token = self._tokens
            self._states = view(self.struct.embd, shape=(size, state_width))
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
        if self._states is not None:
            self._states[start:end] = part.states
        self._position[start:end] = np.arange(position, position + len(part.tokens))
        self._wants_logits[start:end] = 0
        self._wants_logits[end - part.rows : end] = 1
        for i in range(start, end):
            self.struct.seq_id[i][0] = part.sequence
        self.struct.n_tokens = end

    def is_within(self, n_vocab: int) -> bool:
        """Say whether all tokens are below `n_vocab`; others make a library read out of bounds."""
        tokens = self._token[: self.struct.n_tokens]
        return bool(tokens.min() >= 0 and tokens.max() < n_vocab)

    def close(self) -> None:
        """Free the arrays."""
        if self._states is not None:  # the tokens are Python's
            self.struct.token = type(self.struct.token)()
        self._c.llama_batch_free(self.struct)
