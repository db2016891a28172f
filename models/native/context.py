"""A context over loaded weights: a KV cache that is only a cache, and the tokens in it."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from models.base import Logits, common_prefix_length
from models.errors import Cancelled, ContextFull, ModelError
from models.native import native_log, state
from models.native.engine import BATCH, SEQUENCE, ContextSettings
from models.native.state import RecurrentState
from models.native.weights import Weights
from models.progress import CancelFlag

NO_CELLS, ABORTED = 1, 2  # results of llama_decode
SHORT = 32  # tokens up to which an evaluation is short, such as a round of an answer
_NEVER = CancelFlag()  # never raised


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

    def close(self) -> None:
        """Free the arrays."""
        self._c.llama_batch_free(self.struct)


class Context:
    """A context, its KV cache, and the batch that it evaluates. For one thread.

    The KV cache is only a cache: `cached_tokens` are those in it, and callers first drop
    some of them (`truncate`), then append others (`evaluate`). So a rollback, an abort, another
    conversation and a switch of modes are one operation. Lengths are absolute.
    """

    def __init__(self, weights: Weights, settings: ContextSettings, cancel: CancelFlag) -> None:
        self.weights, self._engine, self._c = weights, weights.engine, weights.engine.c
        self._cancel, self._threads = cancel, settings.threads
        params = self._engine.context_params(settings)
        names = self._engine.cache_fields
        self.fields = " ".join(f"{name}={getattr(params, name)}" for name in names)
        """The settings that determine the bytes of its cache, as text."""
        native_log.clear()
        self._handle: int = self._c.llama_init_from_model(weights.handle, params)
        if not self._handle:
            raise ModelError(
                f"{self._engine.title} cannot make a context of {settings.n_ctx} tokens for "
                f"{weights.path}: {native_log.last_errors()}. Try a smaller --ctx."
            )
        self._watched: CancelFlag | None = None  # the flag that the library polls
        self._watch(BATCH)
        self._memory = self._c.llama_get_memory(self._handle)
        self.n_ctx = int(self._c.llama_n_ctx(self._handle))
        """Cells of the cache: as many as requested, padded to a multiple of 256."""
        self._batch = Batch(self._c)
        self.cached_tokens: list[int] = []  # the tokens in the cache
        self.recurrent = RecurrentState(self._c, self._handle) if weights.is_recurrent else None
        """The state of a recurrent model, which cannot be truncated at any length."""

    def _watch(self, count: int) -> None:
        """Let the cancel flag abort an evaluation of `count` tokens.

        A short one is not aborted if the engine cannot abort safely: it ends soon anyway.
        """
        is_safe = self._engine.aborts_safely or count > SHORT
        flag = self._cancel if is_safe else _NEVER
        if flag is not self._watched:  # setting it takes 2 ms on some machines
            address = ctypes.c_void_p(flag.address)
            self._c.llama_set_abort_callback(self._handle, native_log.STRLEN, address)
            self._watched = flag

    @property
    def is_open(self) -> bool:
        """Whether it is still open."""
        return bool(self._handle)

    def use_threads(self, count: int) -> None:
        """Evaluate with so many threads from now on."""
        if count != self._threads:
            self._c.llama_set_n_threads(self._handle, count, count)
            self._threads = count

    def evaluate(self, tokens: Sequence[int], rows: int) -> None:
        """Append tokens, of which the last `rows` want logits, in one batch.

        Raises:
            Cancelled: the cancel flag was raised before, or stopped it; the cache is as before, or
                shorter if the model is recurrent and cannot roll back that far.
            ContextFull: there are no cells left for it; the cache is as before.
            ModelError: the library could not evaluate the batch; the cache is empty.
        """
        if self._cancel.raised:
            raise Cancelled
        length, count = len(self.cached_tokens), len(tokens)
        if not 0 <= min(tokens) <= max(tokens) < self.weights.vocab.size:  # C would read there
            raise self._failure(count, "one is not in its vocabulary")
        self._batch.fill(tokens, rows, length)
        native_log.clear()
        if not self._engine.aborts_safely:
            self._watch(count)
        code = self._c.llama_decode(self._handle, self._batch.struct)
        self._c.llama_synchronize(self._handle)  # a GPU computes on, and would be timed too early
        was_watched = self._watched is self._cancel
        if code == 0 and was_watched and self._cancel.raised and self._engine.aborts_in_silence:
            code = ABORTED
        if code == 0:
            self.cached_tokens.extend(tokens)
            if self.recurrent:
                self.recurrent.note_evaluated(count)
            return
        # After an abort the cache is unchanged or can be restored; after an error it is undefined.
        if self.recurrent and code == ABORTED:
            self.recurrent.mark_broken()
            self.truncate(length)
        elif code not in (NO_CELLS, ABORTED) or not self._remove_after(length):
            self.clear()
        if code == ABORTED:
            raise Cancelled
        if code == NO_CELLS:
            raise ContextFull(f"A context of {self.n_ctx} tokens has no room for {count} more.")
        raise self._failure(count, f"{native_log.last_errors()} (code {code})")

    def _failure(self, count: int, reason: str) -> ModelError:
        title, path = self._engine.title, self.weights.path
        return ModelError(f"{title} could not evaluate {count} tokens with {path}: {reason}.")

    def rows(self, count: int) -> Logits:
        """Return the logits that the last batch asked for, as a view that the next overwrites."""
        n_vocab = self.weights.vocab.size
        if count == 0:
            return np.empty((0, n_vocab), np.float32)
        pointer = self._c.llama_get_logits(self._handle)
        if not pointer:
            raise ModelError(f"{self.weights.path} computes no logits: it is not a text generator.")
        logits = np.ctypeslib.as_array(pointer, shape=(count, n_vocab))
        if not np.isfinite(logits.max()):  # any NaN makes the maximum one
            raise ModelError(
                f"{self.weights.path} computes invalid numbers; the file may be damaged. "
                f"Try: specchat models check {self.weights.path}"
            )
        return logits

    def truncate(self, length: int) -> None:
        """Keep the first `length` tokens, or fewer if the model cannot roll back exactly there."""
        cached = len(self.cached_tokens)
        if self.recurrent:
            length = self.recurrent.reach(cached, length)
            is_cut = length > 0 and self.recurrent.roll_back(cached, length)
        else:
            is_cut = length == cached or (self._reaches_back(length) and self._remove_after(length))
        if is_cut:
            del self.cached_tokens[length:]
        else:
            self.clear()

    def _remove_after(self, length: int) -> bool:
        return bool(self._c.llama_memory_seq_rm(self._memory, SEQUENCE, length, -1))

    def checkpoint(self) -> None:
        """Make it possible to roll back to the tokens in the cache now."""
        if self.recurrent:
            self.recurrent.copy(len(self.cached_tokens))

    def reach(self, tokens: Sequence[int]) -> int:
        """Return how many leading `tokens` the cache holds, or can be rolled back to."""
        common = common_prefix_length(self.cached_tokens, tokens)
        return self.recurrent.reach(len(self.cached_tokens), common) if self.recurrent else common

    def _reaches_back(self, length: int) -> bool:
        """Return whether the cache holds everything that a token at `length` attends to."""
        window = self.weights.sliding_window
        needed = max(0, length - window) if window else 0
        return length > 0 and self._c.llama_memory_seq_pos_min(self._memory, SEQUENCE) <= needed

    def clear(self) -> None:
        """Empty the cache."""
        self._c.llama_memory_clear(self._memory, False)
        self.cached_tokens.clear()
        if self.recurrent:
            self.recurrent.reset()

    def state(self) -> memoryview:
        """Return a copy of the cache."""
        return state.copy_state(self._c, self._handle)

    def restore(self, tokens: Sequence[int], copy: memoryview) -> bool:
        """Replace the cache by a copy that `state` returned for `tokens`; return whether it worked.

        If not, the cache is empty afterwards. Pass only what `state` returned.
        """
        self.clear()
        if state.set_state(self._c, self._handle, copy, len(tokens)):
            self.cached_tokens += tokens
            return True
        self.clear()
        return False

    def close(self) -> None:
        """Free everything; rows returned before are gone with it."""
        if self._handle:
            self._batch.close()
            self._c.llama_free(self._handle)
            self._handle = 0
