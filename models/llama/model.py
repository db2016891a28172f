"""Tokens in, logits out: one context over loaded weights, its KV cache kept out of sight."""

import ctypes
from collections.abc import Sequence
from threading import Lock
from time import perf_counter

import llama_cpp.llama_cpp as llama
import numpy as np

from models.base import Logits
from models.cancel import CancelFlag
from models.errors import Cancelled, ContextFull, ModelError
from models.llama import native, state
from models.llama.batch import SEQUENCE, Batch
from models.llama.weights import Weights
from models.prefix import shared
from models.threads import physical_cores

BATCH = 256  # tokens per evaluation of a long prompt: few enough to stop soon
MAX_ROWS = 32
MANY = 32  # tokens at least, to tell how fast a prompt is read


class LlamaModel:
    """A model as `models.base.Model` describes it.

    Args:
        weights: loaded weights; they must outlive this.
        n_ctx: tokens to make room for; at most what the model was trained for.
        max_rows: rows that one call may ask for. Each costs `n_vocab` floats of buffer, twice.
        threads: None is one per physical core, for one token and for batches alike.
        flash_attention: None leaves it to llama.cpp.
        cancel: raised by another thread, it stops an evaluation between two nodes of its graph.

    Raises:
        ModelError: llama.cpp cannot make a context of this size.
    """

    def __init__(
        self,
        weights: Weights,
        *,
        n_ctx: int = 4096,
        max_rows: int = MAX_ROWS,
        threads: int | None = None,
        flash_attention: bool | None = None,
        cancel: CancelFlag | None = None,
    ) -> None:
        self.weights = weights
        self.n_vocab = weights.vocab.size
        self.max_rows = min(max_rows, MAX_ROWS)
        self._cancel = CancelFlag() if cancel is None else cancel
        self._inside = Lock()
        self._abort_callback = native.strlen_as_abort_callback()  # llama.cpp keeps only its address
        threads = _checked_threads(threads)
        self.conditions = f"{weights.conditions} threads={threads} flash={flash_attention}"
        self._context = self._open(_checked_ctx(n_ctx, weights), threads, flash_attention)
        self._memory = llama.llama_get_memory(self._context)
        # llama.cpp pads the context to a multiple of 256; more than was trained for is no use.
        self.n_ctx = min(int(llama.llama_n_ctx(self._context)), weights.n_ctx_train)
        self._batch = Batch(BATCH)
        self._tokens: list[int] = []  # what the KV cache holds
        self.busy_s = 0.0
        self._read, self._read_s = 0, 0.0  # tokens without logits, and the seconds they took
        try:
            self.can_roll_back = self._warm_up()
        except BaseException:  # nobody else could free what was opened
            self.close()
            raise

    def _open(self, n_ctx: int, threads: int, flash_attention: bool | None) -> int:
        params = llama.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = n_ctx, BATCH, BATCH
        params.n_outputs_max = self.max_rows
        # A batch of two and more runs on the second count, also a verification.
        params.n_threads = params.n_threads_batch = threads
        if flash_attention is not None:
            params.flash_attn_type = int(flash_attention)
        params.swa_full = True  # else a rollback beyond the window corrupts the cache in silence
        native.forget_complaints()
        context: int | None = llama.llama_init_from_model(self.weights.handle, params)
        if not context:
            raise ModelError(
                f"llama.cpp cannot make a context of {n_ctx} tokens for {self.weights.path}: "
                f"{native.complaints()}. Try a smaller --ctx."
            )
        address = ctypes.c_void_p(self._cancel.address)
        llama.llama_set_abort_callback(context, self._abort_callback, address)
        return context

    def _warm_up(self) -> bool:
        """Touch every weight once, and find out whether the cache can forget its last token."""
        with self._inside:
            self._evaluate([0, 0], rows=0)
            rolls_back = bool(llama.llama_memory_seq_rm(self._memory, SEQUENCE, 1, -1))
            self._clear()
        return rolls_back

    def logits(self, tokens: Sequence[int], rows: int = 1) -> Logits:
        """Return the logits that follow each of the last `rows` tokens; see `models.base`."""
        if not self._context:
            raise RuntimeError("the model is closed")
        if len(tokens) > self.n_ctx:
            raise ContextFull(f"{len(tokens)} tokens do not fit into a context of {self.n_ctx}.")
        if not 0 <= rows <= min(self.max_rows, len(tokens)):
            raise ValueError(f"rows must be in 0..{min(self.max_rows, len(tokens))}: {rows}")
        if not self._inside.acquire(blocking=False):
            raise RuntimeError("two threads are in one model")
        started = perf_counter()
        try:
            # Only tokens of the last batch have logits, so the last `rows` are evaluated in it.
            self._truncate(min(self.cached(tokens), len(tokens) - rows))
            self._extend(tokens, rows)
            return self._rows(rows)
        finally:
            self.busy_s += perf_counter() - started
            self._inside.release()

    def cached(self, tokens: Sequence[int]) -> int:
        """Return how many leading tokens the cache already holds."""
        return shared(self._tokens, tokens)

    @property
    def held(self) -> tuple[int, ...]:
        """The tokens that the cache holds."""
        return tuple(self._tokens)

    @property
    def seconds_a_token(self) -> float | None:
        """How long reading a prompt takes, by the token; None before there was a longer one."""
        return self._read_s / self._read if self._read else None

    @property
    def restores_in_part(self) -> bool:
        """Whether a state is the end of the cache alone: llama.cpp leaves out what has slid by."""
        return self.weights.sliding_window > 0

    def state(self) -> memoryview:
        """Return a copy of the cache."""
        with self._inside:
            return state.copied(self._context)

    def restore(self, tokens: Sequence[int], copy: memoryview) -> bool:
        """Fill the cache with what `state` returned when it held `tokens`; say if that went well.

        If not, it is empty afterwards. Only what `state` returned may be given to it.
        """
        with self._inside:
            self._clear()
            if state.put_back(self._context, copy, len(tokens)):
                self._tokens = list(tokens)
                return True
            self._clear()
        return False

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` tokens; all, if the model cannot take tokens back."""
        with self._inside:
            self._truncate(length)

    def _truncate(self, length: int) -> None:
        if length == len(self._tokens):
            return
        if self._reaches_back(length) and llama.llama_memory_seq_rm(
            self._memory, SEQUENCE, length, -1
        ):
            del self._tokens[length:]
        else:
            self._clear()

    def _reaches_back(self, length: int) -> bool:
        """Say whether the cache holds all that a token behind the first `length` looks at."""
        needed = max(0, length - self.weights.sliding_window) if self.restores_in_part else 0
        return length > 0 and llama.llama_memory_seq_pos_min(self._memory, SEQUENCE) <= needed

    def _clear(self) -> None:
        llama.llama_memory_clear(self._memory, False)
        self._tokens = []

    def _extend(self, tokens: Sequence[int], rows: int) -> None:
        while (missing := len(tokens) - len(self._tokens)) > 0:
            start = len(self._tokens)
            if missing <= BATCH:
                self._evaluate(tokens[start:], rows)
            else:
                self._evaluate(tokens[start : start + min(BATCH, missing - rows)], rows=0)

    def _evaluate(self, tokens: Sequence[int], rows: int) -> None:
        """Append at most one batch to the cache."""
        self._batch.fill(tokens, len(self._tokens), rows)
        native.forget_complaints()
        started = perf_counter()
        code = llama.llama_decode(self._context, self._batch.struct)
        if code == 0:
            self._tokens.extend(tokens)
            if rows == 0 and len(tokens) >= MANY:
                self._read += len(tokens)
                self._read_s += perf_counter() - started
            return
        length = len(self._tokens)
        # After an abort the cache is as it was, or can be made so; after an error nothing is sure.
        if code != 2 or not llama.llama_memory_seq_rm(self._memory, SEQUENCE, length, -1):
            self._clear()
        if code == 2:
            raise Cancelled
        raise ModelError(
            f"llama.cpp could not evaluate {len(tokens)} tokens with {self.weights.path} "
            f"(code {code}): {native.complaints()}."
        )

    def _rows(self, rows: int) -> Logits:
        if rows == 0:
            return np.empty((0, self.n_vocab), np.float32)
        pointer = llama.llama_get_logits(self._context)
        if not pointer:
            raise ModelError(f"{self.weights.path} computes no logits: it is not a text generator.")
        logits = np.ctypeslib.as_array(pointer, shape=(rows, self.n_vocab))
        if not np.isfinite(logits.max()):  # any NaN makes the maximum one
            raise ModelError(
                f"{self.weights.path} computes invalid numbers; the file may be damaged. "
                f"Try: specchat models check {self.weights.path}"
            )
        return logits

    def close(self) -> None:
        """Free the context; rows returned before are gone with it."""
        if self._context:
            self._batch.close()
            llama.llama_free(self._context)
            self._context = 0


def _checked_ctx(n_ctx: int, weights: Weights) -> int:
    if n_ctx < BATCH:
        raise ModelError(f"A context of {n_ctx} tokens is too small; use --ctx {BATCH} or more.")
    return min(n_ctx, weights.n_ctx_train)


def _checked_threads(threads: int | None) -> int:
    if threads is None:
        return physical_cores()
    if not 1 <= threads <= 512:
        raise ModelError(f"--threads must be in 1..512: {threads}")
    return threads
