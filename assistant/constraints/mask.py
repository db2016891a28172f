"""The tokens that a constraint allows next; implements `assistant.decoding.mask.Mask`."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple

import numpy as np
from llguidance import LLMatcher, LLTokenizer

from assistant.decoding.mask import Indices
from assistant.decoding.model import Logits
from assistant.decoding.row import Ids
from models.base import common_prefix_length
from models.errors import UsageError

CONTROL = b"\xff"
"""The byte before the number of a control token in llguidance's texts; UTF-8 has no such byte."""
Start = Callable[[Sequence[int]], int | None]
"""Returns the index in a context where the answer starts; None while a thought goes before it."""


class TokenSet(NamedTuple):
    """A set of tokens, stored as its members or as all others, whichever is shorter."""

    ids: Ids  # ascending
    is_complement: bool

    def masked(self, logits: Logits, indices: Indices | None) -> Logits:
        """Return a copy of logits that is -inf for tokens outside the set."""
        ids = indices(self.ids) if indices else self.ids
        ids = ids[ids < len(logits)]
        if self.is_complement:
            result = logits.copy()
            result[ids] = -np.inf
        else:
            result = np.full_like(logits, -np.inf)
            result[ids] = logits[ids]
        return result


class ConstraintMask:
    """The mask of one answer.

    The allowed tokens depend on the context alone; the matcher is a cache that reads forward and
    rolls back to follow the contexts of the calls.
    UsageError if the answer has a beginning that the constraint forbids.
    """

    def __init__(
        self,
        matcher: LLMatcher,  # before any token
        tokenizer: LLTokenizer,
        stop_tokens: frozenset[int],
        tokens: list[int],  # of the prompt, to which the answer is appended
        start: Start,  # finds where the constraint begins; before that, everything is allowed
        must_fit: bool = True,  # whether the beginning of an answer in `tokens` must obey it
    ) -> None:
        self.rows, self.seconds = 0, 0.0
        """Masks computed so far, and the seconds that masking has taken."""
        self.failed = False
        """Whether the constraint became too complex; copies of the matcher have failed, too."""
        self._matcher, self._tokenizer, self._stops = matcher, tokenizer, stop_tokens
        self._tokens, self._start = tokens, start
        self._read: list[int] = []  # tokens that the matcher has consumed
        self._sets: dict[int, TokenSet] = {}  # allowed after so many of them
        self._bits = np.zeros(-(-tokenizer.vocab_size // 32), np.uint32)
        self._stop_set = TokenSet(np.array(sorted(stop_tokens), np.intp), False)
        if must_fit and start(tokens) is not None and not self._follow(tokens):
            raise UsageError(
                "The beginning of this answer does not have the form that is asked for, so it "
                "cannot be continued; ask for a new answer, or for no form."
            )

    def only_token(self, tokens: Sequence[int]) -> int | None:
        """Return the one token that may follow; see `Mask`. The end is never proposed."""
        allowed = self._allowed_tokens(tokens)
        if allowed is None or allowed.is_complement or len(allowed.ids) != 1:
            return None
        return None if allowed.ids[0] in self._stops else int(allowed.ids[0])

    def masked(
        self, logits: Logits, tokens: Sequence[int], indices: Indices | None = None
    ) -> Logits | None:
        """Return the logits of the tokens that may follow; UsageError if none can; see `Mask`."""
        if (allowed := self._allowed_tokens(tokens)) is None:
            return logits
        started = perf_counter()
        result = allowed.masked(logits, indices)
        allows_any = result.max() > -np.inf
        self.seconds += perf_counter() - started
        return result if allows_any else None

    def count_allowed(self, tokens: Sequence[int], run: Sequence[int]) -> int:
        """Return how many tokens of a run may follow; see `Mask`."""
        if not self._follow(tokens):
            return len(run) if self._start(tokens) is None else 0
        stops = (i for i, token in enumerate(run) if token in self._stops)
        return self._matcher.validate_tokens(list(run[: next(stops, len(run))]))

    def fixed_text_tokens(self, tokens: Sequence[int]) -> Sequence[int]:
        """Return tokens that spell the text which must follow; see `Mask`."""
        text = self._matcher.compute_ff_bytes() if self._follow(tokens) else b""
        text = text.partition(CONTROL)[0]
        return self._tokenizer.tokenize_bytes(text) if text else ()

    @property
    def is_over(self) -> bool:
        """Whether only the end may follow the answer so far."""
        return self._follow(self._tokens) and self._matcher.is_stopped()

    @property
    def is_complete(self) -> bool:
        """Whether the answer, up to its first stop token, has the constraint."""
        tokens = self._tokens
        start = self._start(tokens)
        answer = range(len(tokens) if start is None else start, len(tokens))
        end = next((index for index in answer if tokens[index] in self._stops), len(tokens))
        return self._follow(tokens[:end]) and self._matcher.is_accepting()

    def _allowed_tokens(self, tokens: Sequence[int]) -> TokenSet | None:
        """Return the allowed tokens; None for all, also after a forbidden token."""
        started = perf_counter()
        if not self._follow(tokens):
            start = self._start(tokens)
            ended = start is not None and not self._stops.isdisjoint(tokens[start:])
            return self._stop_set if ended else None
        index = len(self._read)
        if index not in self._sets:
            self._matcher.unsafe_compute_mask_ptr(self._bits.ctypes.data, self._bits.nbytes)
            self._check()
            bits = np.unpackbits(self._bits.view(np.uint8), bitorder="little")
            bits = bits[: self._tokenizer.vocab_size].view(np.bool_)  # searched ten times as fast
            is_complement = bool(2 * np.count_nonzero(bits) > len(bits))
            self._sets[index] = TokenSet(np.flatnonzero(bits != is_complement), is_complement)
            self.rows += 1
        self.seconds += perf_counter() - started
        return self._sets[index]

    def _follow(self, tokens: Sequence[int]) -> bool:
        """Bring the matcher to a context.

        False if its answer has not begun, has ended, or holds a token that the constraint forbids.
        """
        start = self._start(tokens)
        if start is None:
            return False
        answer = list(tokens[start:])
        same = common_prefix_length(self._read, answer)
        if same < len(self._read):
            self._matcher.rollback(len(self._read) - same)
            self._check()
            for index in range(same + 1, len(self._read) + 1):
                self._sets.pop(index, None)
            del self._read[same:]
        new = answer[same:]
        if not self._stops.isdisjoint(new):
            return False
        if new:
            count = self._matcher.try_consume_tokens(new)
            self._check()
            self._read += new[:count]
        return len(self._read) == len(answer)

    def _check(self) -> None:
        error = self._matcher.get_error()
        if error and not self._matcher.is_accepting():
            self.failed = True
            why = error.splitlines()[0].partition(" (")[0].rstrip(".")
            raise UsageError(f"The form is too complex to continue: {why}.")
