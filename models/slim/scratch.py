"""What is made from a model's file: written aside, kept whole or not at all, and noted."""

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

from models.errors import StorageError
from models.files import checksum
from models.files.disk import disk_errors, require_room
from models.files.places import models_dir
from models.gguf.summary import RECIPE, SOURCE, SOURCE_SHA256
from models.slim import writing

NAME = "general.name"
_SCRATCH = ".slim-"  # hidden, so that nobody takes what is in there for models
_STALE_S = 24 * 3600


@contextmanager
def scratch(room: int) -> Iterator[Path]:
    """Open a folder beside the models, with so many bytes of room; it is removed at the end.

    Raises:
        StorageError: nothing can be written there.
    """
    place = models_dir()
    with disk_errors(place):
        place.mkdir(parents=True, exist_ok=True)
        _remove_stale(place)
        require_room(place, room)
        folder = Path(mkdtemp(prefix=_SCRATCH, dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_stale(place: Path) -> None:
    """Remove what was left by a program that was killed."""
    for folder in place.glob(f"{_SCRATCH}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _STALE_S:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def no_halves(place: Path) -> Iterator[None]:
    """Remove what was written of a file unless it is whole; say why in one sentence."""
    try:
        yield
    except OSError as error:
        place.unlink(missing_ok=True)
        raise StorageError(
            f"No model can be written to {place.parent.parent}: {error.strerror}. Make room "
            "there, or choose another place with SPECCHAT_MODELS."
        ) from error
    except BaseException:
        place.unlink(missing_ok=True)
        raise


def notes(source: Path, values: Mapping[str, bytes], suffix: str, recipe: str) -> dict[str, bytes]:
    """Return the values that tell what is made from what it was made from: a name, and how."""
    name = values[NAME][12:].decode("utf-8", "replace") if NAME in values else source.stem
    return {
        NAME: writing.text(f"{name} {suffix}"),
        RECIPE: writing.text(recipe),
        SOURCE: writing.text(source.name),
        SOURCE_SHA256: writing.text(checksum.sha256_once(source)),
    }


def keep(fresh: Path, place: Path) -> Path:
    """Move a whole file among the models; return it there."""
    with no_halves(fresh):
        fresh.replace(place)
    checksum.sha256_once(place)
    return place
