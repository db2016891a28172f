"""Bringing a folder's index up to date, in a process of its own."""

import asyncio
import json
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from assistant.passages import index_file
from models import child_process
from models.errors import StorageError
from models.files import disk


class IndexProgress(NamedTuple):
    """How far an update has come."""

    done: int  # files that were read in this update
    of: int  # files that are new or have changed
    path: Path  # the file that is read now


async def update(folder: Path, cache: Path) -> AsyncIterator[IndexProgress]:
    """Read what has changed in a folder; yield progress until all is current.

    It reads in a child process with the lowest priority, which ends when the iterator is closed. A
    file that crashes its reader is named, and another child goes on. The index of a folder that is
    gone is deleted.

    Raises:
        StorageError: the index cannot be written.
    """
    folder, index = folder.resolve(), index_file.place(folder, cache)
    try:
        disk.private_folder(cache)
    except OSError as error:
        raise _unwritable(folder, index, str(error.strerror)) from error
    if not folder.is_dir():
        index_file.remove(index)
        return
    unread: tuple[str, ...] = ()
    while True:
        process = await asyncio.create_subprocess_exec(
            *child_process.command("assistant.passages.worker", folder, index, *unread),
            env=child_process.environment(),
            start_new_session=True,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
        )
        assert process.stdout is not None
        reads = ""
        try:
            async for line in process.stdout:
                said = json.loads(line)
                if "error" in said:
                    raise _unwritable(folder, index, said["error"])
                reads = said["path"]
                yield IndexProgress(said["done"], said["of"], folder / reads)
            status = await process.wait()
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if status == 0:
            return
        if not reads or reads in unread:
            raise _unwritable(folder, index, f"its process ended with {status}")
        slow = -status in (signal.SIGXCPU, signal.SIGALRM)
        unread = (reads, "takes too long to read" if slow else f"crashes its reader ({status})")


def _unwritable(folder: Path, index: Path, why: str) -> StorageError:
    return StorageError(f"The index of {folder} cannot be written to {index}: {why}.")
