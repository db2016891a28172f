"""The weights of a GGUF file, in memory once for any number of contexts."""

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from models import engines
from models.errors import Cancelled, EngineRefused, ModelError
from models.files.model_file import chat_header
from models.native import loaded, native_log, repacked
from models.native.vocab import Vocab
from models.progress import CancelFlag

_DONTNEED = 4  # MADV_DONTNEED


class Weights:
    """A loaded GGUF file and its vocabulary, in the library of this process.

    An `EngineRefused` has the reason of the library for not running the file; another `ModelError`
    says that it is not a complete GGUF file, or not a chat model.
    """

    def __init__(
        self,
        path: Path,
        gpu_layers: int | None = None,  # layers to offload; None is all, if the library can
        *,
        copy: Path | None = None,  # that is mapped in its place; see `models.native.repacked`
        cancel: CancelFlag | None = None,  # raised by another thread, it stops the loading
        progress: Callable[[float], None] = lambda fraction: None,  # must not raise
    ) -> None:
        self.engine = loaded.engine()
        self.path = path
        self.header = chat_header(path)  # refuses what would end this process
        if reason := self.engine.unsupported_reason(self.header):
            raise self._refused(f"run {path}: {reason}")
        self.copy, self.users = copy, 0  # `users` share it
        params = self.engine.model_params(gpu_layers, copy is not None)
        self.conditions = self.engine.speed_key(path, gpu_layers)
        cancel = CancelFlag() if cancel is None else cancel
        self.handle: int | None = self._load(copy or path, params, cancel, progress)
        if copy is None:
            release_mapped_pages(path)
        c = self.engine.c
        if c.llama_model_has_encoder(self.handle):
            self.close()
            raise ModelError(f"{path} is an encoder-decoder model; specchat runs decoders.")
        self.vocab = Vocab(c, self.handle, self.header)
        self.n_ctx_train = int(c.llama_model_n_ctx_train(self.handle))
        self.sliding_window = self.engine.sliding_window(self.handle)
        self.is_recurrent = bool(
            c.llama_model_is_recurrent(self.handle) or c.llama_model_is_hybrid(self.handle)
        )

    def _load(
        self, path: Path, params: Any, cancel: CancelFlag, progress: Callable[[float], None]
    ) -> int:
        last_percent, c = -1, self.engine.c

        def report(fraction: float, _user_data: object) -> bool:
            nonlocal last_percent
            if (percent := int(100 * fraction)) > last_percent:  # it is called for every tensor
                last_percent = percent
                progress(fraction)
            return not cancel.raised

        callback = c.llama_progress_callback(report)
        params.progress_callback = callback
        params.progress_callback_user_data = ctypes.c_void_p()
        native_log.clear()
        handle: int | None = c.llama_model_load_from_file(os.fsencode(path), params)
        if handle:
            return handle
        if cancel.raised:
            raise Cancelled
        raise self._refused(f"load {path}: {native_log.last_errors()}")

    def _refused(self, what: str) -> EngineRefused:
        return EngineRefused(f"{self.engine.title} cannot {what}.{engines.llama_hint()}")

    def close(self) -> None:
        """Free the memory; every context must be closed before."""
        if self.handle:
            self.engine.c.llama_model_free(self.handle)
            self.handle = None


_in_memory: dict[tuple[Path, int | None], Weights] = {}  # the weights that this process shares


@contextmanager
def shared_weights(
    path: Path,
    gpu_layers: int | None,
    cancel: CancelFlag,
    progress: Callable[[float], None] = lambda fraction: None,
) -> Iterator[Weights]:
    """Load a file unless it is in memory; its last user frees it. For one thread.

    Raises what `Weights` raises.
    """
    key = path.resolve(), gpu_layers
    if key not in _in_memory:
        copy = repacked.find(path)
        _in_memory[key] = Weights(path, gpu_layers, copy=copy, cancel=cancel, progress=progress)
    weights = _in_memory[key]
    weights.users += 1
    try:
        yield weights
    finally:
        weights.users -= 1
        if not weights.users:
            del _in_memory[key]
            weights.close()


def release_mapped_pages(path: Path) -> None:
    """Release the pages of a mapped file, which stay in the system's cache. Only on Linux.

    Loading touches the whole file. Repacked weights would otherwise count twice as memory of this
    process.
    """
    if sys.platform != "linux":
        return
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    name = b" " + os.fsencode(path.resolve())
    with suppress(OSError):  # no /proc here
        for line in Path("/proc/self/maps").read_bytes().splitlines():
            addresses, access = line.split()[:2]
            start, end = (int(address, 16) for address in addresses.split(b"-"))
            if access == b"r--s" and line.endswith(name):  # never written: nothing can be lost
                advise(start, end - start, _DONTNEED)
