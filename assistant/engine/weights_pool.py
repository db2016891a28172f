"""Weights that several models share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from models.cancel import CancelFlag
from models.native.library import WeightSettings
from models.native.weights import Weights


class Pool:
    """The weights in memory, each file once however many use it. For one thread."""

    def __init__(self) -> None:
        self._shared: dict[tuple[Path, WeightSettings], tuple[Weights, int]] = {}

    @contextmanager
    def use(
        self,
        path: Path,
        settings: WeightSettings,
        cancel: CancelFlag,
        progress: Callable[[float], None] = lambda fraction: None,
    ) -> Iterator[Weights]:
        """Load a file, unless it is loaded; it is freed when its last user has left.

        Raises what `Weights` raises.
        """
        key = path.resolve(), settings
        if key not in self._shared:
            self._shared[key] = Weights(path, settings, cancel=cancel, progress=progress), 0
        weights, users = self._shared[key]
        self._shared[key] = weights, users + 1
        try:
            yield weights
        finally:
            weights, users = self._shared.pop(key)
            if users > 1:
                self._shared[key] = weights, users - 1
            else:
                weights.close()
