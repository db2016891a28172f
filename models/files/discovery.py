"""Every model file on this machine, each once, with what its header says.

Headers are remembered: that of a file that has not changed is not read again.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from models.catalog import GGUF
from models.errors import ModelError
from models.files.disk import read_json, write_json
from models.files.gguf_files import parts_of
from models.files.locate import locate, resolve
from models.files.places import cache_dir
from models.files.stores import Stored, stored
from models.gguf import ModelSummary, summarise

_VERSION = 4  # of `ModelSummary`: records of other versions are ignored
_Outcome = ModelSummary | str
"""What is known about a file: its summary, or what is wrong with it."""


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model file, used in place."""

    path: Path
    name: str  # its name in its store
    reference: str  # what to call it on the command line
    store: str
    size: int  # bytes, of all its parts
    summary: ModelSummary | None
    problem: str | None  # why it cannot be used at all: a part of a sentence
    gguf: GGUF | None = None  # its entry in the catalogue

    @property
    def refusal(self) -> str | None:
        """Why it cannot hold a conversation, if it cannot."""
        return self.problem or (self.summary.flaw if self.summary else None)


def discover(folders: Iterable[Path] = ()) -> Iterator[LocalModel]:
    """Yield the models of every program on this machine and those in `folders`, as they are read.

    The same bytes are yielded once, under the first name: the catalogue's, then the hub's.
    """
    headers = _Headers()
    seen: set[tuple[int, int]] = set()
    try:
        for model in stored(folders):
            try:
                status = model.path.stat()
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
                found = _found(model, headers)
            except OSError:  # deleted meanwhile
                continue
            yield found
    finally:
        headers.save()


def identify(reference: str, candidates: Iterable[LocalModel] = ()) -> LocalModel:
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
    name = gguf.name if gguf else path.name
    headers = _Headers()
    found = _found(Stored(path, name, reference, "file", gguf), headers)
    headers.save()
    return found


def _found(model: Stored, headers: "_Headers") -> LocalModel:
    parts = parts_of(model.path)
    missing = [part for part in parts if not os.path.isfile(part)]
    size = sum(part.stat().st_size for part in parts or [model.path] if part not in missing)
    real = model.path.resolve()
    outcome = headers.of(real)
    if missing:
        outcome = f"{len(missing)} of its {len(parts)} parts are missing, from {missing[0].name}."
    summary = outcome if isinstance(outcome, ModelSummary) else None
    problem = None if summary else str(outcome).removeprefix(f"{real} ").removeprefix("is ")
    return LocalModel(
        model.path, model.name, model.reference, model.store, size, summary, problem, model.gguf
    )


class _Kept(msgspec.Struct):
    version: int
    files: dict[str, tuple[int, int, _Outcome]]  # by path: size, time, and what is known


class _Headers:
    """The contents of headers, kept in the cache folder; a damaged record means reading again."""

    def __init__(self) -> None:
        self._files = _load()
        self._is_new = False

    def of(self, path: Path) -> _Outcome:
        """Return the summary of a file, or a sentence that says why it has none."""
        try:
            status = path.stat()
        except (OSError, ValueError) as error:
            return f"{str(path)!r} cannot be read: {error}."
        stamp = status.st_size, status.st_mtime_ns
        record = self._files.get(str(path))
        if record and record[:2] == stamp:
            return record[2]
        try:
            outcome: _Outcome = summarise(path)
        except ModelError as error:
            outcome = str(error)
        self._files[str(path)] = (*stamp, outcome)
        self._is_new = True
        return outcome

    def save(self) -> None:
        """Write what was learnt, in one step; if that fails, it is read again next time."""
        if self._is_new:
            files = {name: each for name, each in self._files.items() if os.path.exists(name)}
            with suppress(OSError, ValueError):
                write_json(_place(), _Kept(_VERSION, files))


def _place() -> Path:
    return cache_dir() / "headers.json"


def _load() -> dict[str, tuple[int, int, _Outcome]]:
    kept = read_json(_place(), _Kept)
    return kept.files if kept and kept.version == _VERSION else {}
