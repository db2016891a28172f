"""Make drafts from one file by recipes, in a folder that is gone when the work is done."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import numpy.typing as npt

from models.errors import StorageError
from models.files import checksum
from models.files.disk import disk_errors, require_room
from models.files.places import models_dir
from models.gguf import read_vocabulary
from models.gguf.summary import SERVES
from models.llama.quantize import quantize
from models.slim import vocabulary, writing
from models.slim.writing import read_layout

NAME = "general.name"
RECIPE, SOURCE = "specchat.slim.recipe", "specchat.slim.source"
SOURCE_SHA256 = "specchat.slim.source_sha256"
_SCRATCH = ".slim-"  # hidden, so that nobody takes what is in there for models
_STALE_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class Recipe:
    """Steps, each of which may be left out."""

    kind: str | None = None  # the type that all matrices are requantised to
    tokens: int | None = None  # how many of the vocabulary are kept
    dropped: tuple[int, ...] = ()  # layers that are left out

    def __str__(self) -> str:
        steps = [self.kind] if self.kind else []
        steps += [f"{self.tokens:,} tokens"] if self.tokens else []
        if self.dropped:
            which = ", ".join(map(str, self.dropped))
            steps.append(f"without layer{'s' if len(self.dropped) > 1 else ''} {which}")
        return ", ".join(steps) or "as it is"

    @property
    def label(self) -> str:
        """What tells the file from others, as a part of its name."""
        steps = [self.kind.lower()] if self.kind else []
        steps += [str(self.tokens)] if self.tokens else []
        steps += ["less-" + "-".join(map(str, self.dropped))] if self.dropped else []
        return "-".join(steps)


def spaced(layers: int, count: int) -> tuple[int, ...]:
    """Return `count` layers to drop, evenly spaced: neither the first quarter nor the last.

    The first layers are indispensable, and the last ones shape the output.
    """
    first, last = layers // 4, layers - layers // 4
    return tuple(first + (2 * i + 1) * (last - first) // (2 * count) for i in range(count))


class Workshop:
    """Makes files of one source by recipes; each requantisation is done once.

    Args:
        source: the file, which is only read.
        counts: how often each token is used in real text.
        folder: for what is made.
    """

    def __init__(self, source: Path, counts: npt.NDArray[np.int64], folder: Path) -> None:
        self.source = source
        self._counts = counts
        self._folder = folder

    def make(self, recipe: Recipe) -> Path:
        """Return the file that a recipe makes.

        Raises:
            ModelError: the source does not allow it.
            StorageError: there is no room.
        """
        base = self._requantised(recipe)
        if recipe.tokens is None:
            return base
        place = self._place(recipe)
        if not place.exists():
            layout = read_layout(base)
            tokens = read_vocabulary(base)
            ids = vocabulary.kept(tokens, self._counts, recipe.tokens)
            values = vocabulary.without(layout.values, ids, tokens.size)
            with _no_halves(place):
                writing.write(layout, place, values, ids, vocabulary.MATRICES)
        return place

    def keep(self, recipe: Recipe, serves: str) -> Path:
        """Put what a recipe makes among the models, with a note how it came about; return it there.

        `serves` tells the target that it was measured with.
        """
        made = self.make(recipe)
        layout = read_layout(made)
        place = models_dir() / f"{self.source.stem}-slim-{recipe.label}.gguf"
        fresh = self._folder / place.name
        values = {**layout.values, **self._notes(layout.values, recipe, serves)}
        with _no_halves(fresh):
            writing.write(layout, fresh, values)
            fresh.replace(place)
        checksum.sha256_once(place)
        return place

    def _requantised(self, recipe: Recipe) -> Path:
        if recipe.kind is None and not recipe.dropped:
            return self.source
        place = self._place(Recipe(recipe.kind, None, recipe.dropped))
        if not place.exists():
            require_room(self._folder, self.source.stat().st_size)
            with _no_halves(place):
                quantize(self.source, place, recipe.kind, recipe.dropped)
        return place

    def _place(self, recipe: Recipe) -> Path:
        return self._folder / f"{recipe.label}.part"

    def _notes(self, values: Mapping[str, bytes], recipe: Recipe, serves: str) -> dict[str, bytes]:
        name = values[NAME][12:].decode("utf-8", "replace") if NAME in values else self.source.stem
        return {
            NAME: writing.text(f"{name} slim"),
            RECIPE: writing.text(str(recipe)),
            SOURCE: writing.text(self.source.name),
            SOURCE_SHA256: writing.text(checksum.sha256_once(self.source)),
            SERVES: writing.text(serves),
        }


@contextmanager
def workshop(source: Path, count: Callable[[], npt.NDArray[np.int64]]) -> Iterator[Workshop]:
    """Open a workshop beside the models; what was not kept is removed at the end.

    Raises:
        StorageError: nothing can be written there.
    """
    place = models_dir()
    with disk_errors(place):
        place.mkdir(parents=True, exist_ok=True)
        _remove_stale(place)
        require_room(place, source.stat().st_size)
        folder = Path(mkdtemp(prefix=_SCRATCH, dir=place))
    try:
        yield Workshop(source, count(), folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_stale(place: Path) -> None:
    """Remove what was left by a workshop that was killed."""
    for folder in place.glob(f"{_SCRATCH}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _STALE_S:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _no_halves(place: Path) -> Iterator[None]:
    """Remove what was written of a file unless it is whole; say why in one sentence."""
    try:
        yield
    except OSError as error:
        place.unlink(missing_ok=True)
        raise StorageError(
            f"A draft cannot be written to {place.parent.parent}: {error.strerror}. Make room "
            "there, or choose another place with SPECCHAT_MODELS."
        ) from error
    except BaseException:
        place.unlink(missing_ok=True)
        raise
