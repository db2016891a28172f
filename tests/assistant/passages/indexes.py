"""Updates of a folder's index, for tests."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from assistant.passages import index_file, worker
from assistant.passages.folder_index import FolderIndex, IndexProgress, update
from models import child_process
from models.files import disk


def indexed(folder: Path, cache: Path) -> FolderIndex:
    """Bring the index of a folder up to date, and return it."""
    asyncio.run(updated(folder, cache))
    return FolderIndex(folder, cache)


def indexed_here(folder: Path, cache: Path) -> FolderIndex:
    """Do so in this process: to start another one takes longer than to read a few files."""
    disk.private_folder(cache)
    with patch.object(worker, "_limit_time"):  # of the process
        worker.update(folder.resolve(), index_file.index_path(folder.resolve(), cache), {})
    return FolderIndex(folder, cache)


async def update_here(folder: Path, cache: Path) -> AsyncIterator[IndexProgress]:
    """Stand in for `update`, as above, where there is a folder."""
    with redirect_stdout(StringIO()) as progress:
        index = indexed_here(folder, cache).folder
    for line in progress.getvalue().splitlines():
        message = json.loads(line)
        yield IndexProgress(message["done"], message["of"], index / message["path"])


def updated_after(
    event: asyncio.Event,
) -> Callable[[Path, Path], AsyncIterator[IndexProgress]]:
    """Return what does so once an event is set."""

    async def update(folder: Path, cache: Path) -> AsyncIterator[IndexProgress]:
        yield IndexProgress(0, 2, folder / "air.md")
        await event.wait()
        async for progress in update_here(folder, cache):
            yield progress

    return update


async def updated(folder: Path, cache: Path) -> list[str]:
    """Bring the index of a folder up to date; return the files that were read."""
    progress = [each async for each in update(folder, cache)]
    assert all(each.done < each.of for each in progress)
    return [str(each.path.relative_to(folder.resolve())) for each in progress]


def with_worker(monkeypatch, code: str) -> None:
    """Have workers run code before they begin."""

    def command(module: str, *arguments: object) -> list[str]:
        given = child_process_command(module, *arguments)
        first = f"from assistant.passages import worker, file_lines\nimport os, signal\n{code}\n"
        return [sys.executable, "-P", "-c", f"{first}worker.main()", *given[6:]]

    child_process_command = child_process.command
    monkeypatch.setattr(child_process, "command", command)


def names(index: FolderIndex, question: str, before: Sequence[str] = ()) -> list[str]:
    """The files in which a question finds passages, best first."""
    passages = index.find(question, before).passages
    return [str(passage.path.relative_to(index.folder)) for passage in passages]
