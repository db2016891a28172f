"""Every model file on this machine, each once, with what its header says."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from models.catalog import GGUF
from models.files.locate import locate, resolve
from models.files.model_file import ModelFile
from models.files.stores import stored


def discover(folders: Iterable[Path] = ()) -> Iterator[ModelFile]:
    """Yield the models of every program on this machine and those in `folders`, as they are read.

    The same bytes are yielded once, under the first name: the catalogue's, then the hub's.
    """
    seen: set[tuple[int, int]] = set()
    for model in stored(folders):
        try:
            status = model.path.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            _ = model.size, model.header  # read here, in the caller's thread
        except OSError:  # deleted meanwhile
            continue
        yield model


def identify(reference: str, candidates: Iterable[ModelFile] = ()) -> ModelFile:
    """Return the model a reference names: one of the candidates, or any other file.

    Raises:
        ModelMissing: it is not on this machine.
        ModelError: it is not a file.
    """
    path = locate(reference)
    real = path.resolve()
    for candidate in candidates:
        if candidate.path.resolve() == real:
            return candidate
    known = resolve(reference)
    gguf = known if isinstance(known, GGUF) else None
    return ModelFile(path, gguf.name if gguf else path.name, reference, "file", gguf)
