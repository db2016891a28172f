"""A file may be called anything: a name that is not a text is shown, and works as any other."""

import json
import os
import sys
from pathlib import Path

import pytest
from textual.widgets import Static

from models.errors import StorageError
from tests import tiny
from tests.tui.chat.chat_driver import open_chat
from tests.tui.shell.program import HOT, ended, run
from tui.settings.config_file import read
from tui.settings.config_writer import write

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="its names are all UTF-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of models that specchat looks into."""
    monkeypatch.setenv("SPECCHAT_MODELS", str(tmp_path))
    return tmp_path


@pytest.fixture
def odd(folder: Path) -> Path:
    path = folder / os.fsdecode(b"\xff\xfe model.gguf")
    return tiny.write(folder / "model.gguf", seed=0, stops=False).rename(path)


@pytest.fixture
def odd_draft(folder: Path) -> Path:
    path = folder / os.fsdecode(b"\xff\xfe draft.gguf")
    made = tiny.write(folder / "draft.gguf", seed=1, like=0, noise=1.0, stops=False)
    return made.rename(path)


def said(*arguments: object) -> str:
    """Run a command that has to succeed, and return what it prints."""
    code, out, err = ended(*arguments)
    assert code == 0, err
    assert "Traceback" not in err
    return out


def test_its_answers_are_stored_and_continued(odd: Path, odd_draft: Path) -> None:
    ask = ("ask", *HOT, "--max-tokens", "8", "--target", odd, "--json")
    code, out, err = run(*ask, "--draft", odd_draft, "--chat", "new", "Hi")
    assert code == 0, err
    found = json.loads(out)
    assert found["target"]["path"] == str(odd)
    assert found["target"]["name"] == "\ufffd\ufffd model"
    assert len(found["target"]["sha256"]) == 64
    assert found["draft"]["path"] == str(odd_draft)
    said(*ask, "--draft", "none", "--chat", "last", "Hi")
    assert "\ufffd\ufffd model" in said("chats", "show", "1")
    assert "\ufffd\ufffd model" in said("stats")


def test_it_is_listed_and_checked(odd: Path) -> None:
    assert "\ufffd\ufffd model.gguf" in said("models", "list")
    listed = json.loads(said("models", "list", "--json"))["installed"]
    assert str(odd) in [each["path"] for each in listed]
    assert "whole, sha256" in said("models", "check", odd)
    assert "llama" in said("models", "show", odd)
    assert "\ufffd\ufffd model.gguf" in said("models", "pair", odd)


@pytest.mark.thorough
def test_it_races_and_is_proved(odd: Path) -> None:
    assert "SpS" in said("race", *HOT, "--max-tokens", "4", "--target", odd, "--draft", odd, "Hi")
    proved = json.loads(
        said("prove", "--threads", "1", "--target", odd, "--draft", "none", "--json")
    )
    assert proved["target"] == str(odd)


async def test_the_chat_shows_its_name(odd: Path) -> None:
    async with open_chat(odd, asked=("Hello",)) as chat:
        shown = [str(each.render()) for each in chat.screen.parts.banner.query(Static)]
        assert any("\ufffd\ufffd model" in text for text in shown)
        assert chat.screen.controller.ready is not None
        assert chat.screen.controller.ready.target.path == odd


def test_settings_that_are_no_text_are_refused_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    with pytest.raises(StorageError, match="only UTF-8"):
        write(read(path), {"target": os.fsdecode(b"\xff.gguf")}, {})
    assert not path.exists()
