"""Open models as a setup has them, with any settings; what is in memory already is shared."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from assistant.engine.engine_choice import choose
from assistant.engine.weights_pool import Pool
from assistant.request import Setup, Tuning
from models.cancel import CancelFlag
from models.native import loaded
from models.native.library import WeightSettings
from models.native.model import MAX_ROWS, NativeModel

N_CTX = 1280
"""Tokens of room: for the deeper of two depths and the widest batch."""


class Opener:
    """Open models as a setup says, except where a tuning differs.

    Raises:
        OtherEngine: this process has loaded another engine.
        Cancelled: it was stopped.
    """

    def __init__(self, setup: Setup, cancel: CancelFlag) -> None:
        self._setup, self._cancel, self._pool = setup, cancel, Pool()
        loaded.use(choose(setup, cancel, lambda name: None).engine)

    @contextmanager
    def open(
        self, path: Path, tuning: Tuning | None = None, max_rows: int = MAX_ROWS
    ) -> Iterator[NativeModel]:
        """Open a model; one that is open around it shares its weights.

        Raises:
            ModelError: it cannot be loaded.
            Cancelled: it was stopped.
        """
        tuning = tuning or Tuning()
        settings = WeightSettings(self._setup.gpu_layers, tuning.repack)
        with self._pool.use(path, settings, self._cancel) as weights:
            model = NativeModel(
                weights,
                n_ctx=N_CTX,
                max_rows=max_rows,
                threads=self._setup.threads or tuning.threads,
                flash_attention=tuning.flash_attention,
                cancel=self._cancel,
            )
            with closing(model):
                yield model
