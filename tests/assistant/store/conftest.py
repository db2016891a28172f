"""Stores on disk, closed at the end of a test, and the rights of an ordinary user."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.store import database, files
from assistant.store.store import Store
from tests.assistant.store import conversations
from tests.patience import WAIT_S


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats.db"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take its time; what is given up for good is given up at once."""
    monkeypatch.setattr(database, "BUSY_MS", int(1000 * WAIT_S))
    monkeypatch.setattr(files, "_LOCK_TIMEOUT_S", WAIT_S)


@pytest.fixture(autouse=True)
def closed_at_the_end() -> Iterator[None]:
    yield
    while conversations.open_stores:
        conversations.open_stores.pop().close()


@pytest.fixture
def store(path: Path) -> Store:
    return conversations.opened(path)


@pytest.fixture
def commoner() -> Iterator[Path]:
    """A folder of somebody whom file modes bind; root ignores them."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    root = os.geteuid() == 0
    if root:
        os.setresuid(65534, 65534, 0)
    try:
        yield folder
    finally:
        if root:
            os.setresuid(0, 0, 0)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o700)
        shutil.rmtree(folder)
