"""The lack of a draft is reported once, with its reason, where one was expected."""

from pathlib import Path

import pytest

from models.native.model import NativeModel
from tests import tiny
from tests.tui.chat.chat_driver import open_chat
from tests.tui.shell.program import HOT, run


@pytest.fixture
def misfit(tmp_path: Path) -> Path:
    """A draft that is cut off."""
    path = tmp_path / "misfit.gguf"
    path.write_bytes(tiny.write(tmp_path / "whole.gguf").read_bytes()[:-1000])
    return path


def ask(target: Path, *options: object) -> tuple[int, str, str]:
    return run("ask", "--target", target, *HOT, "--max-tokens", 12, *options, "hello")


@pytest.mark.parametrize("mode", ["ars", "sps", "auto"])
def test_a_draft_that_cannot_serve_is_named_with_what_to_do_whatever_the_mode(target, misfit, mode):
    code, _, err = ask(target, "--draft", misfit, "--mode", mode)
    assert code == 0
    assert err.count("misfit.gguf") == 1
    assert f"specchat models pair {target}" in err
    assert ("Guesses come from the conversation alone." in err) is (mode != "ars")


async def test_the_chat_claims_no_proposals_without_a_source(
    target: Path, draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NativeModel, "_warm_up", lambda model: False)  # it takes nothing back
    async with open_chat(target, draft, asked=("Alone?",)) as chat:
        (note,) = chat.shown(".note.warning")
        assert note.startswith("Answers come without guesses. ")
        assert "nothing can guess" in str(chat.screen.status.render())


async def test_the_figures_say_why_no_model_guesses_as_the_chat_does(target: Path) -> None:
    async with open_chat(target) as chat:
        (note,) = chat.shown(".note.warning")
        chat.screen.panel.wanted = True
        await chat.until(lambda: chat.screen.panel._lines)
        shown = " ".join(line.plain for line in chat.screen.panel._lines).rstrip()
        assert shown == f"{note.partition('. ')[2]} Figures come with the next words."
