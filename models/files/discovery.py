"""Every model file on this machine, each once, with what its header says."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from models.catalog import GGUF
from models.files import layout
from models.files.locate import locate, resolve
from models.files.other_programs import Stored, stored
from models.files.summaries import Summaries
from models.gguf import ModelSummary


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model file, used where it lies."""

    path: Path
    name: str  # as its store calls it
    reference: str  # what to call it on the command line
    store: str
    size: int  # bytes, of all its parts
    summary: ModelSummary | None
    problem: str | None  # why it cannot be used at all: a part of a sentence
    gguf: GGUF | None = None  # its entry in the catalogue

    @property
    def refusal(self) -> str | None:
        """Why no conversation can be held with it, if none can."""
        return self.problem or (self.summary.flaw if self.summary else None)


def discover(folders: Iterable[Path] = ()) -> Iterator[LocalModel]:
    """Yield the models of every program on this machine and those in `folders`, as they are read.

    The same bytes are yielded once, under the first name: the catalogue's, then the hub's.
    """
    summaries = Summaries()
    seen: set[tuple[int, int]] = set()
    try:
        for model in stored(folders):
            try:
                status = model.path.stat()
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
                found = _found(model, summaries)
            except OSError:  # gone meanwhile
                continue
            yield found
    finally:
        summaries.save()


def identify(reference: str, candidates: Iterable[LocalModel] = ()) -> LocalModel:
    """Return the model that a reference means: one of the candidates, or any other file.

    Raises:
        ModelMissing: it is not on this machine.
        ModelError: it is no file.
    """
    path = locate(reference)
    real = path.resolve()
    for candidate in candidates:
        if candidate.path.resolve() == real:
            return candidate
    known = resolve(reference)
    gguf = known if isinstance(known, GGUF) else None
    name = gguf.name if gguf else path.name
    summaries = Summaries()
    found = _found(Stored(path, name, reference, "file", gguf), summaries)
    summaries.save()
    return found


def _found(model: Stored, summaries: Summaries) -> LocalModel:
    parts = layout.parts(model.path)
    missing = [part for part in parts if not os.path.isfile(part)]
    size = sum(part.stat().st_size for part in parts or [model.path] if part not in missing)
    real = model.path.resolve()
    outcome: ModelSummary | str = summaries.of(real)
    if missing:
        outcome = f"{len(missing)} of its {len(parts)} parts are missing, {missing[0].name} first."
    summary = outcome if isinstance(outcome, ModelSummary) else None
    problem = None if summary else str(outcome).removeprefix(f"{real} ").removeprefix("is ")
    return LocalModel(
        model.path, model.name, model.reference, model.store, size, summary, problem, model.gguf
    )
