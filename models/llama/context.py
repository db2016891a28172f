"""One llama.cpp context over loaded weights, and the tokens that each sequence of it holds."""

import ctypes
from collections.abc import Collection, Sequence

import llama_cpp.llama_cpp as llama
import numpy as np

from models.base import Logits
from models.cancel import CancelFlag
from models.errors import Cancelled, ContextFull, ModelError
from models.llama import native, state
from models.llama.batch import SEQUENCE, Batch, Part
from models.llama.weights import Weights
from models.prefix import shared

BATCH = 256  # tokens per evaluation of a long prompt: few enough to stop soon
KEYED_BY = (
    "rope_scaling_type",
    "rope_freq_base",
    "rope_freq_scale",
    "yarn_ext_factor",
    "yarn_attn_factor",
    "yarn_beta_fast",
    "yarn_beta_slow",
    "yarn_orig_ctx",
    "attention_type",
    "flash_attn_type",
    "type_k",
    "type_v",
    "swa_full",
    "kv_unified",
)
"""Settings of a context that decide what its cache holds, or how."""
NO_ROOM, ABORTED = 1, 2  # what llama_decode returns


class Context:
    """A context, its KV cache, and the batch that it evaluates. For one thread.

    Sequences share the cells of the cache: what one begins with is another's for nothing, and room
    that one does not take is there for the others.

    Raises:
        ModelError: llama.cpp cannot make a context of this size.
    """

    def __init__(
        self,
        weights: Weights,
        *,
        n_ctx: int,
        max_rows: int,
        sequences: int,
        threads: int,
        flash_attention: bool | None,
        cancel: CancelFlag,
    ) -> None:
        self.weights = weights
        self._cancel = cancel
        self._abort_callback = native.strlen_as_abort_callback()  # llama.cpp keeps only its address
        self._handle = self._open(n_ctx, max_rows, sequences, threads, flash_attention)
        self._memory = llama.llama_get_memory(self._handle)
        self._batch = Batch(BATCH)
        self.n_ctx = int(llama.llama_n_ctx(self._handle))
        """Cells of the cache: what was asked for, padded to a multiple of 256."""
        self.held: list[list[int]] = [[] for _ in range(sequences)]
        """The tokens of each sequence that the cache holds."""
        # Where a model has two sets of rotations (longrope), the size says which one is used.
        self.cache_format = f"n_ctx={self.n_ctx} {self._settings}"
        """All settings that the bytes of its cache depend on, as text."""

    def _open(
        self, n_ctx: int, max_rows: int, sequences: int, threads: int, flash_attention: bool | None
    ) -> int:
        params = llama.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = n_ctx, BATCH, BATCH
        params.n_seq_max, params.kv_unified = sequences, True
        params.n_outputs_max = max_rows
        # A batch of two and more runs on the second count, also a verification.
        params.n_threads = params.n_threads_batch = threads
        if flash_attention is not None:
            params.flash_attn_type = int(flash_attention)
        params.swa_full = True  # else a rollback beyond the window corrupts the cache in silence
        native.forget_complaints()
        self._settings = " ".join(f"{name}={getattr(params, name)}" for name in KEYED_BY)
        handle: int | None = llama.llama_init_from_model(self.weights.handle, params)
        if not handle:
            raise ModelError(
                f"llama.cpp cannot make a context of {n_ctx} tokens for {self.weights.path}: "
                f"{native.complaints()}. Try a smaller --ctx."
            )
        address = ctypes.c_void_p(self._cancel.address)
        llama.llama_set_abort_callback(handle, self._abort_callback, address)
        return handle

    @property
    def is_open(self) -> bool:
        """Whether it has not been closed."""
        return bool(self._handle)

    def evaluate(self, *parts: Part) -> None:
        """Append parts to their sequences, in one batch.

        Raises:
            Cancelled: the cancel flag was raised; the cache is as it was.
            ContextFull: there are no cells left for them; the cache is as it was.
            ModelError: llama.cpp could not evaluate the batch; the cache is empty.
        """
        lengths = [len(self.held[part.sequence]) for part in parts]
        self._batch.fill(parts, lengths)
        native.forget_complaints()
        code = llama.llama_decode(self._handle, self._batch.struct)
        if code == 0:
            for part in parts:
                self.held[part.sequence].extend(part.tokens)
            return
        # After an abort the cache is as it was, or can be made so; after an error nothing is sure.
        if code not in (NO_ROOM, ABORTED) or not all(
            llama.llama_memory_seq_rm(self._memory, part.sequence, length, -1)
            for part, length in zip(parts, lengths, strict=True)
        ):
            self.clear()
        raise self._failure(code, sum(len(part.tokens) for part in parts))

    def _failure(self, code: int, count: int) -> Exception:
        if code == ABORTED:
            return Cancelled()
        if code == NO_ROOM:
            return ContextFull(f"A context of {self.n_ctx} tokens has no room for {count} more.")
        return ModelError(
            f"llama.cpp could not evaluate {count} tokens with {self.weights.path} "
            f"(code {code}): {native.complaints()}."
        )

    def rows(self, count: int) -> Logits:
        """Return the logits that the last batch asked for, as a view that the next overwrites.

        Raises:
            ModelError: there are none, or they are no numbers.
        """
        n_vocab = self.weights.vocab.size
        if count == 0:
            return np.empty((0, n_vocab), np.float32)
        pointer = llama.llama_get_logits(self._handle)
        if not pointer:
            raise ModelError(f"{self.weights.path} computes no logits: it is not a text generator.")
        logits = np.ctypeslib.as_array(pointer, shape=(count, n_vocab))
        if not np.isfinite(logits.max()):  # any NaN makes the maximum one
            raise ModelError(
                f"{self.weights.path} computes invalid numbers; the file may be damaged. "
                f"Try: specchat models check {self.weights.path}"
            )
        return logits

    def truncate(self, length: int, sequence: int = SEQUENCE) -> None:
        """Forget all but the first `length` tokens; all, if the model cannot take tokens back."""
        if length == len(self.held[sequence]):
            return
        if self._reaches_back(length, sequence) and llama.llama_memory_seq_rm(
            self._memory, sequence, length, -1
        ):
            del self.held[sequence][length:]
        else:
            self.forget(sequence)

    def align(self, sequence: int, tokens: Sequence[int], most: int) -> None:
        """Let a sequence hold as many of `tokens` as the cache has, at most `most`, and no others.

        What another one begins with costs nothing: its cells are this one's, too.
        """
        known = [min(shared(held, tokens), most) for held in self.held]
        source = max(range(len(known)), key=known.__getitem__)
        if known[source] == known[sequence] or not self._reaches_back(known[source], source):
            self.truncate(known[sequence], sequence)
            return
        self.forget(sequence)
        llama.llama_memory_seq_cp(self._memory, source, sequence, 0, known[source])
        self.held[sequence] += tokens[: known[source]]

    def settle(self, tokens: Sequence[int]) -> None:
        """Hold one sequence alone, the first, with what any has in common with `tokens`."""
        if any(self.held[SEQUENCE + 1 :]):
            self.align(SEQUENCE, tokens, len(tokens))
            self.forget_all_but({SEQUENCE})

    def forget_all_but(self, wanted: Collection[int]) -> bool:
        """Forget all other sequences; say whether there were any."""
        others = [i for i, tokens in enumerate(self.held) if tokens and i not in wanted]
        for sequence in others:
            self.forget(sequence)
        return bool(others)

    def _reaches_back(self, length: int, sequence: int) -> bool:
        """Say whether the cache holds all that a token behind the first `length` looks at."""
        window = self.weights.sliding_window
        needed = max(0, length - window) if window else 0
        return length > 0 and llama.llama_memory_seq_pos_min(self._memory, sequence) <= needed

    def forget(self, sequence: int) -> None:
        """Free the cells that no other sequence has."""
        if any(tokens for i, tokens in enumerate(self.held) if i != sequence):
            llama.llama_memory_seq_rm(self._memory, sequence, -1, -1)
            self.held[sequence].clear()
        else:
            self.clear()

    def clear(self) -> None:
        """Forget everything."""
        llama.llama_memory_clear(self._memory, False)
        for tokens in self.held:
            tokens.clear()

    def state(self) -> memoryview:
        """Return a copy of what the first sequence holds."""
        return state.copied(self._handle)

    def restore(self, tokens: Sequence[int], copy: memoryview) -> bool:
        """Hold nothing but a copy that `state` returned when it held `tokens`; say if it does.

        If not, the cache is empty afterwards. Only what `state` returned may be given to it.
        """
        self.clear()
        if state.put_back(self._handle, copy, len(tokens)):
            self.held[SEQUENCE] += tokens
            return True
        self.clear()
        return False

    def close(self) -> None:
        """Free everything; rows returned before are gone with it."""
        if self._handle:
            self._batch.close()
            llama.llama_free(self._handle)
            self._handle = 0
