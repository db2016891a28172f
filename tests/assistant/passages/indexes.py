"""Bringing indexes up to date in tests."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from assistant.passages.folder_index import FolderIndex, update
from models import child_process

WORKER = "assistant.passages.worker"


def indexed(folder: Path, cache: Path) -> FolderIndex:
    """Bring the index of a folder up to date, and return it."""
    asyncio.run(updated(folder, cache))
    return FolderIndex(folder, cache)


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
        return [sys.executable, "-P", "-c", f"{first}worker.main()", *given[4:]]

    child_process_command = child_process.command
    monkeypatch.setattr(child_process, "command", command)


def names(index: FolderIndex, question: str, before: Sequence[str] = ()) -> list[str]:
    """The files in which a question finds passages, best first."""
    found = index.find(question, before).passages
    return [str(each.path.relative_to(index.folder)) for each in found]
