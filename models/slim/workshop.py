"""Make drafts from one file by recipes, in a folder that is removed at the end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from models.files.disk import require_room
from models.files.places import models_dir
from models.gguf import read_vocabulary
from models.gguf.summary import SERVES
from models.native.quantize import quantize
from models.slim import vocabulary, writing
from models.slim.scratch import keep, no_halves, notes, scratch
from models.slim.writing import read_layout


@dataclass(frozen=True, slots=True)
class Recipe:
    """Steps, each of them optional."""

    kind: str | None = None  # the type that all matrices are requantised to
    tokens: int | None = None  # how many tokens are kept
    dropped: tuple[int, ...] = ()  # layers left out

    def __str__(self) -> str:
        steps = [self.kind] if self.kind else []
        steps += [f"{self.tokens:,} tokens"] if self.tokens else []
        if self.dropped:
            which = ", ".join(map(str, self.dropped))
            steps.append(f"without layer{'s' if len(self.dropped) > 1 else ''} {which}")
        return ", ".join(steps) or "as it is"

    @property
    def label(self) -> str:
        """What distinguishes the file, as a part of its name."""
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
    """Makes files of one source by recipes, in a folder; each requantisation is done once.

    `counts` has how often each token is used in real text.
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
            with no_halves(place):
                writing.write(layout, place, values, ids, vocabulary.MATRICES)
        return place

    def keep(self, recipe: Recipe, serves: str) -> Path:
        """Move a recipe's file to the models, with a note of how it was made; return its path.
        `serves` is the target it was measured with.
        """
        made = self.make(recipe)
        layout = read_layout(made)
        place = models_dir() / f"{self.source.stem}-slim-{recipe.label}.gguf"
        fresh = self._folder / place.name
        told = notes(self.source, layout.values, "slim", str(recipe))
        with no_halves(fresh):
            writing.write(layout, fresh, {**layout.values, **told, SERVES: writing.text(serves)})
        return keep(fresh, place)

    def _requantised(self, recipe: Recipe) -> Path:
        if recipe.kind is None and not recipe.dropped:
            return self.source
        place = self._place(Recipe(recipe.kind, None, recipe.dropped))
        if not place.exists():
            require_room(self._folder, self.source.stat().st_size)
            with no_halves(place):
                quantize(self.source, place, recipe.kind, recipe.dropped)
        return place

    def _place(self, recipe: Recipe) -> Path:
        return self._folder / f"{recipe.label}.part"


@contextmanager
def workshop(source: Path, count: Callable[[], npt.NDArray[np.int64]]) -> Iterator[Workshop]:
    """Open a workshop beside the models; files that are not kept are removed at the end.

    Raises:
        StorageError: nothing can be written there.
    """
    with scratch(source) as folder:
        yield Workshop(source, count(), folder)
