"""What a language model is to the rest of specchat."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Logits = npt.NDArray[np.float32]


class Model(Protocol):
    """Tokens in, logits out.

    A model keeps a KV cache, but only as a cache: the logits depend on the tokens given and on
    nothing evaluated before, up to floating-point differences between batch sizes.
    """

    n_ctx: int
    """How many tokens fit."""
    n_vocab: int
    """How many logits a row has."""
    max_rows: int
    """How many rows one call may ask for."""
    can_roll_back: bool
    """Whether forgetting the last tokens is possible. If not, speculation cannot pay."""
    rollback: int | None
    """How many tokens of the last evaluation can be forgotten at no cost; None: any number.

    To forget more, a model goes back to a state it has saved, from before the evaluation, and
    evaluates the tokens that stay again, with the next ones.
    """
    decided: int
    """How many of the first tokens will not be rolled back. It is a hint."""
    busy_s: float
    """Seconds spent in `logits` so far."""

    def logits(self, tokens: Sequence[int], rows: int = 1, fillers: int = 0) -> Logits:
        """Return the logits that follow each of the last `rows` tokens, shape (rows, n_vocab).

        Evaluates only what the cache lacks. The result is a view that the next call overwrites.
        `fillers` widen the batch with tokens whose results are discarded, for kernels that take
        less time when the batch is full; they change neither the logits nor the cache. They are
        left out if there is no room for them, or if the model cannot forget any number of tokens.

        Raises:
            Cancelled: the cancel flag was raised; what was evaluated so far stays cached.
            ContextFull: `tokens` exceed `n_ctx`.
            ModelError: llama.cpp could not evaluate the batch, or computed no numbers.
        """
        ...

    def cached(self, tokens: Sequence[int]) -> int:
        """Return how many leading tokens the cache already holds, or can go back to."""
        ...


def most_proposals(model: Model) -> int:
    """Return how many proposals one evaluation can verify; all of them can be taken back."""
    room = model.max_rows - 1
    return min(room, model.rollback) if model.rollback else room


@dataclass(frozen=True, slots=True)
class SequenceTokens:
    """Tokens, how many rows of logits to return at their end, and fillers as in `Model.logits`."""

    tokens: Sequence[int]
    rows: int = 1
    fillers: int = 0


class MultiSequenceModel(Model, Protocol):
    """A model that holds several texts side by side, and their common beginning only once.

    For each of them the cache is only a cache. The first text is the one that `logits` uses.
    """

    most_texts: int
    """How many texts it holds; 1 if it cannot hold several."""

    def logits_of(self, texts: Mapping[int, SequenceTokens]) -> dict[int, Logits]:
        """Return the logits of some texts, numbered from 0, from one evaluation of the model.

        A text that is no longer asked for is kept while there is room. Shapes and errors are those
        of `logits`; `ContextFull` is also raised if the texts do not fit together.
        """
        ...

    def settle(self, tokens: Sequence[int]) -> None:
        """Continue with one text: the one that has most in common with `tokens`."""
        ...


class Vocab(Protocol):
    """Text to tokens and back."""

    @property
    def controls(self) -> Mapping[str, int]:
        """The control tokens, by their text."""
        ...

    @property
    def stop_tokens(self) -> frozenset[int]:
        """The tokens by which the model ends its turn."""
        ...

    @property
    def bos(self) -> int | None:
        """The token that a prompt begins with, if it must."""
        ...

    bos_text: str
    eos_text: str
    template: str | None
    """The Jinja chat template of the model file."""

    def tokenize(self, text: str) -> list[int]:
        """Return the tokens of plain text; nothing in it becomes a control token."""
        ...

    def piece(self, token: int) -> bytes:
        """Return the bytes of one token; a control token has none."""
        ...

    def text(self, token: int) -> str:
        """Return the name of a token, also of a control token."""
        ...
