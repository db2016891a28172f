"""The weights of a GGUF file, in memory once for any number of contexts."""

import ctypes
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any

from models import engines
from models.cancel import CancelFlag
from models.errors import Cancelled, ModelError
from models.files import headers
from models.native import complaints, loaded
from models.native.library import USUAL, HeadFunctions, Library, WeightSettings, speed_key
from models.native.vocab import NativeVocab, has_tokens

_DONTNEED = 4  # MADV_DONTNEED
_LARGE = 1 << 20


class Weights:
    """A loaded GGUF file and its vocabulary, in the library of this process.

    Args:
        path: the file.
        settings: how it is loaded.
        cancel: raised by another thread, it stops the loading.
        progress: called with the fraction that is loaded; must not raise.

    Raises:
        ModelError: the file is not a model that the library can run; the text has its reason.
        Cancelled: `cancel` was raised.
    """

    def __init__(
        self,
        path: Path,
        settings: WeightSettings = USUAL,
        *,
        cancel: CancelFlag | None = None,
        progress: Callable[[float], None] = lambda fraction: None,
    ) -> None:
        self.library = loaded.library()
        self.path = path
        self.header = headers.read(path)  # refuses all but complete GGUF files
        if reason := self.library.refusal(self.header):
            refused = f"{self.library.TITLE} cannot run {path}: {reason}."
            raise ModelError(refused + engines.without_llama())
        params = self.library.model_params(settings)
        key = speed_key(self.library, path, settings.gpu_layers)
        self.conditions = f"{key} repack={settings.repack}"
        started = perf_counter()
        cancel = CancelFlag() if cancel is None else cancel
        self.handle: int | None = _load(self.library, path, params, cancel, progress)
        if not settings.vocab_only:
            release_mapped_pages()
        self.load_s = perf_counter() - started
        c = self.library.c
        try:
            self._check(settings)
        except ModelError:
            self.close()
            raise
        self.vocab = NativeVocab(c, self.handle)
        self.n_ctx_train = int(c.llama_model_n_ctx_train(self.handle))
        self.sliding_window = self.library.sliding_window(self.handle)
        self.is_recurrent = bool(
            c.llama_model_is_recurrent(self.handle) or c.llama_model_is_hybrid(self.handle)
        )

    def _check(self, settings: WeightSettings) -> None:
        if not has_tokens(self.library.c, self.handle):
            raise ModelError(f"{self.path} has no vocabulary; it is not a language model.")
        if settings.vocab_only:
            return
        if self.library.c.llama_model_has_encoder(self.handle):
            raise ModelError(
                f"{self.path} is an encoder-decoder model; specchat runs decoder models."
            )

    def heads(self) -> HeadFunctions:
        """Return how its prediction heads are run.

        Raises:
            ModelError: it has none, or the library cannot run them.
        """
        return self.library.heads(self.header)

    def close(self) -> None:
        """Free the memory; every context must be closed before."""
        if self.handle:
            self.library.c.llama_model_free(self.handle)
            self.handle = None


def _load(
    library: Library,
    path: Path,
    params: Any,
    cancel: CancelFlag,
    progress: Callable[[float], None],
) -> int:
    told = -1

    def report(fraction: float, _user_data: object) -> bool:
        nonlocal told
        if (percent := int(100 * fraction)) > told:  # it is called for every tensor
            told = percent
            progress(fraction)
        return not cancel.raised

    callback = library.c.llama_progress_callback(report)
    params.progress_callback = callback
    params.progress_callback_user_data = ctypes.c_void_p()
    complaints.forget()
    handle: int | None = library.c.llama_model_load_from_file(os.fsencode(path), params)
    if handle:
        return handle
    if cancel.raised:
        raise Cancelled
    refused = f"{library.TITLE} cannot load {path}: {complaints.said()}."
    raise ModelError(refused + engines.without_llama())


def release_mapped_pages() -> None:
    """Give back the pages of mapped files; they stay in the system's cache. Loading touches all of
    a file, also the weights that are then kept rearranged elsewhere; those pages would count as
    used until the process ends. Only on Linux.
    """
    if sys.platform != "linux":
        return
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    with suppress(OSError):  # no /proc here
        for line in Path("/proc/self/maps").read_bytes().splitlines():
            addresses, access = line.split()[:2]
            start, end = (int(address, 16) for address in addresses.split(b"-"))
            if access == b"r--s" and end - start >= _LARGE:  # never written: nothing can be lost
                advise(start, end - start, _DONTNEED)
