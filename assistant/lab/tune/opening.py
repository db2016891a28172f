"""Open the models of a tuning with any settings; what is in memory already is shared."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assistant.request import Setup
from assistant.tuning import Tuning
from models.cancel import CancelFlag
from models.llama.model import LlamaModel
from models.llama.weights import Weights

N_CTX = 1280
"""Tokens of room: for the deeper of two depths and the widest batch."""


class Opener:
    """Open models as a setup has them, but for what a tuning says."""

    def __init__(self, setup: Setup, cancel: CancelFlag) -> None:
        self._setup, self._cancel = setup, cancel
        self._shared: dict[tuple[Path, bool], Weights] = {}

    @contextmanager
    def open(self, path: Path, tuning: Tuning, max_rows: int) -> Iterator[LlamaModel]:
        """Open a model; one that is open around it shares its weights.

        Raises:
            ModelError: it cannot be loaded.
            Cancelled: somebody stopped it.
        """
        with self._weights(path, tuning.repack) as weights:
            model = LlamaModel(
                weights,
                n_ctx=N_CTX,
                max_rows=max_rows,
                threads=self._setup.threads or tuning.threads,
                flash_attention=tuning.flash_attention,
                cancel=self._cancel,
            )
            try:
                yield model
            finally:
                model.close()

    @contextmanager
    def _weights(self, path: Path, repack: bool) -> Iterator[Weights]:
        if (path, repack) in self._shared:
            yield self._shared[path, repack]
            return
        gpu_layers = self._setup.gpu_layers
        weights = Weights(path, gpu_layers=gpu_layers, repack=repack, cancel=self._cancel)
        self._shared[path, repack] = weights
        try:
            yield weights
        finally:
            del self._shared[path, repack]
            weights.close()
