"""Tiny models for the chat."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from tests import tiny
from tests.patience import WAIT_S
from tests.tui import rest

rest.use()


@pytest.fixture(autouse=True)
def unfrozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program keeps until it ends, an app of a test gives back: hundreds come after it."""
    monkeypatch.setattr("tui.app.app.gc", Mock())


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where users get seconds, a busy machine gets minutes."""
    for limit in (
        "tui.app.program.QUIT_AGAIN_S",
        "tui.app.clipboard.CLIPBOARD_TIMEOUT_S",
        "tui.chat.prompt.file_search.SEARCH_LIMIT_S",
    ):
        monkeypatch.setattr(limit, WAIT_S)
    monkeypatch.setattr("tui.chat.conversation.tool_turns.IGNORED_S", 0.0)


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target that never ends by itself."""
    return tiny.write(tmp_path_factory.mktemp("models") / "target.gguf", seed=0, stops=False)


@pytest.fixture(scope="session")
def draft(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A draft that the target often, not always, agrees with."""
    path = tmp_path_factory.mktemp("models") / "draft.gguf"
    return tiny.write(path, seed=1, like=0, noise=1.0, stops=False)


@pytest.fixture(scope="session")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A target with so much context that no answer ends before the test does."""
    path = tmp_path_factory.mktemp("endless") / "target.gguf"
    return tiny.write(path, stops=False, n_ctx=30_000)


@pytest.fixture
def pair(target: Path, draft: Path) -> tuple[Path, Path]:
    return target, draft
