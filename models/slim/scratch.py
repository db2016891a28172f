"""Files made from a model: written elsewhere, kept completely or not at all, and noted."""

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

from models.errors import ModelError, StorageError
from models.files import checksum
from models.files.disk import disk_errors, require_room
from models.files.gguf_files import parts_of
from models.files.places import models_dir
from models.gguf.summary import RECIPE, SOURCE, SOURCE_SHA256
from models.slim import writing

NAME = "general.name"
_SCRATCH = ".slim-"  # hidden, so that its files are not listed as models
_STALE_S = 24 * 3600


@contextmanager
def scratch(source: Path, copies: int = 1) -> Iterator[Path]:
    """Open a folder next to the models, with room for copies of a file; it is removed at the end.

    Raises:
        ModelError: the file is only a part of a model.
        StorageError: nothing can be written there.
    """
    if parts_of(source):
        raise ModelError(
            f"{source} is one part of a split model; choose a model that is in one file."
        )
    place = models_dir()
    with disk_errors(place):
        place.mkdir(parents=True, exist_ok=True)
        _remove_stale(place)
        require_room(place, copies * source.stat().st_size)
        folder = Path(mkdtemp(prefix=_SCRATCH, dir=place))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_stale(place: Path) -> None:
    """Remove what a killed program left."""
    for folder in place.glob(f"{_SCRATCH}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _STALE_S:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def no_halves(place: Path) -> Iterator[None]:
    """Remove an incomplete file; say why in one sentence."""
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
    """Return the metadata that says what a file was made from, and how."""
    name = values[NAME][12:].decode("utf-8", "replace") if NAME in values else source.stem
    return {
        NAME: writing.text(f"{name} {suffix}"),
        RECIPE: writing.text(recipe),
        SOURCE: writing.text(source.name),
        SOURCE_SHA256: writing.text(checksum.sha256_once(source)),
    }


def keep(fresh: Path, place: Path) -> Path:
    """Move a complete file to the models; return its path."""
    with no_halves(fresh):
        fresh.replace(place)
    checksum.sha256_once(place)
    return place
