"""The lock of a store: shared while it is open, held alone to change the file as a whole."""

import fcntl
import os
import time
from pathlib import Path

from models.errors import StorageError

_TIMEOUT_S = 30.0


class StoreLock:
    """A `flock` that all programs with the store open share; the system frees it when one dies.

    To create, check, repair or purge the file, a program must hold it alone.
    """

    def __init__(self, path: Path) -> None:
        """Take the lock: alone if it is free, else shared.

        Raises:
            OSError: the lock file cannot be created.
            StorageError: another program has held it alone for 30 seconds.
        """
        self._descriptor = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        self.alone = False
        """Whether no other program has the store open."""
        deadline = time.monotonic() + _TIMEOUT_S
        while not self.take_alone() and not self._take(fcntl.LOCK_SH):
            if time.monotonic() > deadline:
                self.close()
                raise StorageError(
                    f"Another specchat is busy with {path}. Wait until it is done, and start again."
                )
            time.sleep(0.05)

    def take_alone(self) -> bool:
        """Try to hold the lock alone; call this last, a failure may lose the shared lock."""
        return self._take(fcntl.LOCK_EX)

    def share(self) -> None:
        """Let other programs open the store."""
        fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        self.alone = False

    def close(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)

    def _take(self, kind: int) -> bool:
        try:
            fcntl.flock(self._descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        self.alone = kind == fcntl.LOCK_EX
        return True
