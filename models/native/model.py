"""Tokens in, logits out: a model whose KV cache is not visible from outside."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from threading import Lock
from time import perf_counter

from models.base import Logits
from models.errors import ContextFull
from models.free_cores import FreeCores
from models.machine import compute_cores
from models.native.context import Context
from models.native.engine import BATCH, ContextSettings
from models.native.weights import Weights
from models.progress import CancelFlag

MAX_ROWS = 32
FIRST_CELLS = 2048  # tokens that a new context has cells for; they take 0.05 seconds to clear
PADDING = 256  # cells are a multiple of it
MIN_TOKENS_TIMED = 32  # shorter prefills are not counted in `seconds_per_token`


class NativeModel:
    """A loaded model that computes logits, with as many threads for one token as for batches.

    By default there is one per core of `compute_cores`, and fewer while other programs use these,
    where that does not change the logits. A `ModelError` says that the library cannot make a
    context of this size.
    """

    def __init__(
        self,
        weights: Weights,  # they must outlive this
        *,
        n_ctx: int,  # at most as many as the model was trained for
        max_rows: int = MAX_ROWS,  # of one call; each costs `n_vocab` floats of buffer, twice
        threads: int | None = None,
        cancel: CancelFlag | None = None,  # stops an evaluation between two nodes of its graph
    ) -> None:
        self.weights = weights
        self.n_vocab = weights.vocab.size
        self.batch = weights.engine.widest_batch(weights.header) or BATCH
        """How many tokens are evaluated at once, at most."""
        self.max_rows = min(max_rows, MAX_ROWS, self.batch)
        self.cancel = CancelFlag() if cancel is None else cancel
        self._inside = Lock()
        adapts = threads is None and weights.engine.computes_alike
        self._free_cores = FreeCores() if adapts else None
        self.threads = threads or compute_cores()
        limit, slots = min(n_ctx, weights.n_ctx_train), 0
        if weights.is_recurrent:
            from models.memory import rollback_slots

            slots = rollback_slots(weights.header, self.max_rows)
        self._settings = ContextSettings(limit, self.max_rows, self.threads, slots)
        self._context = self._open(min(limit, FIRST_CELLS) if _can_grow(weights) else limit)
        # A library pads the context to a multiple of 256; more than was trained for is useless.
        self.n_ctx = min(-(-limit // PADDING) * PADDING, weights.n_ctx_train)
        self.committed = 0
        recurrent = self._context.recurrent
        self.rollback = recurrent.slots if recurrent else None
        self.busy_s = 0.0
        self._read, self._read_s = 0, 0.0  # tokens without logits, and the seconds they took
        try:
            self.can_roll_back = self._warm_up()
        except BaseException:  # nobody else could free what was opened
            self.close()
            raise

    @property
    def conditions(self) -> str:
        """Everything that its speed depends on, as text."""
        limit = "" if self.batch == BATCH else f" batch={self.batch}"
        return f"{self.weights.conditions} threads={self.threads}{limit}"

    @property
    def cache_identity(self) -> str:
        """Everything that a snapshot depends on but its tokens and the file's name, as text."""
        # For models with two sets of rotations (longrope), the size decides which one is used.
        cells = "any" if _can_grow(self.weights) else self._context.n_ctx
        build = self.weights.engine.build()
        return f"{self.conditions} {build} n_ctx={cells} {self._context.fields}"

    @property
    def has_all_cores(self) -> bool:
        """Whether no other program keeps it from the cores that it would use on a calm machine."""
        return self._free_cores is None or self._free_cores.are_free

    def limit_batch(self, tokens: int) -> None:
        """Evaluate at most `tokens` tokens at once from now on."""
        self.batch = min(self.batch, tokens)
        self.max_rows = min(self.max_rows, tokens)

    def _warm_up(self) -> bool:
        """Touch every weight once; return whether the cache can be rolled back."""
        with self._inside:
            if self.weights.is_recurrent:
                self._evaluate([0], rows=0)
                self._context.checkpoint()
            self._evaluate([0, 0], rows=0)
            self._context.truncate(1)
            rolls_back = len(self.cached_tokens) == 1
            self._context.clear()
        return rolls_back

    def logits(self, tokens: Sequence[int], rows: int = 1) -> Logits:
        """Return the logits that follow each of the last `rows` tokens."""
        self._check(tokens, rows)
        with self._computing():
            self._grow(len(tokens))
            # Only tokens of the last batch have logits, so the last `rows` are evaluated in it.
            self._context.truncate(min(self.cached(tokens), len(tokens) - rows))
            self._extend(tokens, rows)
            return self._context.rows(rows)

    def _check(self, tokens: Sequence[int], rows: int) -> None:
        if not self._context.is_open:
            raise RuntimeError("the model is closed")
        if len(tokens) > self.n_ctx:
            raise ContextFull(f"{len(tokens)} tokens do not fit into a context of {self.n_ctx}.")
        if not 0 <= rows <= min(self.max_rows, len(tokens)):
            raise ValueError(f"rows must be in 0..{min(self.max_rows, len(tokens))}: {rows}")

    @contextmanager
    def _computing(self) -> Iterator[None]:
        if not self._inside.acquire(blocking=False):
            raise RuntimeError("two threads use one model")
        started = perf_counter()
        try:
            yield
        finally:
            self.busy_s += perf_counter() - started
            self._inside.release()

    def cached(self, tokens: Sequence[int]) -> int:
        """Return how many leading tokens the cache holds, or can be rolled back to."""
        return self._context.reach(tokens)

    @property
    def cached_tokens(self) -> tuple[int, ...]:
        """The tokens in the cache."""
        return tuple(self._context.cached_tokens)

    @property
    def seconds_per_token(self) -> float | None:
        """Seconds of prefill per token; None before there was a long enough prompt."""
        return self._read_s / self._read if self._read else None

    @property
    def restores_in_part(self) -> bool:
        """Whether a snapshot lacks the tokens that have left the sliding window."""
        return self.weights.sliding_window > 0

    def state(self) -> memoryview:
        """Return a copy of the cache."""
        with self._inside:
            return self._context.state()

    def restore(self, tokens: Sequence[int], copy: memoryview) -> bool:
        """Do what `Context.restore` does, in a context that is large enough."""
        with self._inside:
            self._grow(len(tokens))
            return self._context.restore(tokens, copy)

    def truncate(self, length: int) -> None:
        """Keep the first `length` tokens in the cache, or fewer if it cannot roll back there."""
        with self._inside:
            self._context.truncate(length)

    def _open(self, cells: int) -> Context:
        return Context(self.weights, replace(self._settings, n_ctx=cells), self.cancel)

    def _grow(self, tokens: int) -> None:
        """Move the cache into a larger context if so many tokens do not fit into this one.

        A library clears all cells of a new context: for 32,768 that takes seconds and gigabytes.
        Without memory for it, the smaller one stays.
        """
        small = self._context
        if tokens > small.n_ctx and small.n_ctx < self._settings.n_ctx:
            larger = self._open(min(max(2 * small.n_ctx, tokens), self._settings.n_ctx))
            with suppress(MemoryError):  # for a copy of the cache: its tokens are read again
                if small.cached_tokens:
                    larger.restore(small.cached_tokens, small.state())
            self._context = larger
            small.close()

    def _extend(self, tokens: Sequence[int], rows: int) -> None:
        """Evaluate the tokens that the cache lacks. A recurrent model makes a checkpoint.

        All tokens of a verify batch but the first may be rolled back, so the checkpoint is before
        it. The tokens of a draft after the committed ones may be, so it is after those.
        """
        cached_tokens = self._context.cached_tokens
        verifies = self.rollback is not None and rows - 1 > self.rollback
        while (missing := len(tokens) - len(cached_tokens)) > 0:
            start = len(cached_tokens)
            if missing > self.batch:
                self._evaluate(tokens[start : start + min(self.batch, missing - rows)], rows=0)
                continue
            if verifies or start <= self.committed < len(tokens):
                self._context.checkpoint()
            self._evaluate(tokens[start:], rows)
            if self.committed == len(tokens):
                self._context.checkpoint()

    def _evaluate(self, tokens: Sequence[int], rows: int) -> None:
        started = perf_counter()
        if self._free_cores:
            self._context.use_threads(self._free_cores.threads)
        with self._free_cores.observe() if self._free_cores else nullcontext():
            self._context.evaluate(tokens, rows)
        if rows == 0 and len(tokens) >= min(MIN_TOKENS_TIMED, self.batch):
            self._read += len(tokens)
            self._read_s += perf_counter() - started

    def close(self) -> None:
        """Free the context; rows returned before are gone with it."""
        self._context.close()


def _can_grow(weights: Weights) -> bool:
    return weights.header.has_movable_cache and not (weights.is_recurrent or weights.sliding_window)
