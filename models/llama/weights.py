"""The weights of a GGUF file, in memory once however many contexts use them."""

import ctypes
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter

import llama_cpp.llama_cpp as llama

from models import gguf
from models.cancel import CancelFlag
from models.errors import Cancelled, ModelError
from models.llama import native, offload
from models.llama.vocab import LlamaVocab, has_tokens

_DONTNEED = 4  # MADV_DONTNEED
_LARGE = 1 << 20


class Weights:
    """A loaded GGUF file and its vocabulary.

    Args:
        path: the file.
        gpu_layers: how many layers to offload; None is all, when this build can offload.
        repack: rearrange weights for the CPU's kernels where there are such.
        at_home: leave no layer to other machines; see `models.rpc_servers`.
        cancel: raised by another thread, it stops the loading.
        progress: called with the fraction that is loaded; must not raise.
        vocab_only: read the vocabulary and the metadata, not the weights.

    Raises:
        ModelError: the file is not a model that llama.cpp can run; the text has its reason.
        Cancelled: `cancel` was raised.
    """

    def __init__(
        self,
        path: Path,
        *,
        gpu_layers: int | None = None,
        repack: bool = True,
        at_home: bool = False,
        cancel: CancelFlag | None = None,
        progress: Callable[[float], None] = lambda fraction: None,
        vocab_only: bool = False,
    ) -> None:
        native.start()
        self.path = path
        self.header = gguf.read(path)  # refuses what is not a whole GGUF file, before native code
        offload.join_servers()
        self.conditions = f"{native.speed_key(path, gpu_layers)} repack={repack}"
        started = perf_counter()
        self.handle: int | None = _load(
            path,
            gpu_layers,
            repack,
            at_home,
            CancelFlag() if cancel is None else cancel,
            progress,
            vocab_only,
        )
        if not vocab_only:
            release_mapped_pages()
        self.load_s = perf_counter() - started
        if not has_tokens(self.handle):
            self.close()
            raise ModelError(f"{path} has no vocabulary; it is not a language model.")
        if not vocab_only and llama.llama_model_has_encoder(self.handle):
            self.close()
            raise ModelError(f"{path} is an encoder-decoder model; specchat runs decoder models.")
        self.vocab = LlamaVocab(self.handle)
        self.n_ctx_train = int(llama.llama_model_n_ctx_train(self.handle))
        self.sliding_window = int(llama.llama_model_n_swa(self.handle))
        self.is_recurrent = bool(
            llama.llama_model_is_recurrent(self.handle) or llama.llama_model_is_hybrid(self.handle)
        )

    def close(self) -> None:
        """Free the memory; every context must be closed before."""
        if self.handle:
            llama.llama_model_free(self.handle)
            self.handle = None


def _load(
    path: Path,
    gpu_layers: int | None,
    repack: bool,
    at_home: bool,
    cancel: CancelFlag,
    progress: Callable[[float], None],
    vocab_only: bool,
) -> int | None:
    def report(fraction: float, _user_data: object) -> bool:
        progress(fraction)
        return not cancel.raised

    params = llama.llama_model_default_params()
    params.vocab_only = vocab_only
    params.use_extra_bufts = repack and not native.has_amx()
    if gpu_layers is not None:
        params.n_gpu_layers = gpu_layers
    if at_home and (here := offload.devices_here()):
        params.devices = ctypes.cast(here, ctypes.c_void_p)
    callback = llama.llama_progress_callback(report)
    params.progress_callback = callback
    params.progress_callback_user_data = ctypes.c_void_p()
    native.forget_complaints()
    handle: int | None = llama.llama_model_load_from_file(os.fsencode(path), params)
    if handle:
        return handle
    if cancel.raised:
        raise Cancelled
    raise ModelError(f"llama.cpp cannot load {path}: {native.complaints()}.")


def release_mapped_pages() -> None:
    """Give back the pages of mapped files; they are in the system's cache, and come when needed.

    Loading touches all of a file, also the weights that are then kept rearranged elsewhere; those
    pages would stay and count until the process ends. This is done on Linux alone.
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
