"""A draft that is no help is mentioned, once and with its reason, where one was expected."""

from pathlib import Path

import gguf
import pytest

from assistant.events import ModelInfo, Stats, Tally
from models.native.model import NativeModel
from tests import tiny
from tests.tui.chat.chat_driver import Pair, open_chat
from tests.tui.shell.program import HOT, run
from tui import draft_use

DRAFT = ModelInfo("draft", "Draft", Path("/models/draft.gguf"), 10**8, 512, 260, 0.1)


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


@pytest.mark.parametrize(
    ("tally", "said"),
    [(Tally(14, 0), True), (Tally(8, 0), True), (Tally(7, 0), False), (Tally(99, 1), False)],
)
def test_a_draft_of_which_nothing_was_accepted_is_counted_out(tally, said):
    text = draft_use.rejected(Stats("sps", sources={"model": tally}), DRAFT)
    wanted = f"None of the {tally.tested} guesses of draft.gguf was right."
    assert text == (wanted if said else None)


def test_ask_says_that_nothing_was_accepted_and_where_to_find_another(target, tmp_path):
    stranger = tiny.write(tmp_path / "stranger.gguf", seed=9)
    for tensor in gguf.GGUFReader(stranger, "r+").tensors:
        if tensor.name == "output_norm.weight":
            tensor.data[:] *= -1  # what it is surest of, it says least
    cold = ("--temperature", "0", "--source", "model", "-k", 3, "--max-tokens", 60)
    _, out, err = ask(target, "--draft", stranger, "--mode", "sps", *cold)
    assert "guesses of stranger.gguf was right" in err
    assert f"specchat models pair {target}" in err
    assert "stranger" not in out


async def test_the_chat_says_once_of_a_pair_that_nothing_was_accepted(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft_use, "rejected", lambda stats, draft: "None was right.")
    async with open_chat(*pair) as chat:
        await chat.ask("One")
        await chat.ask("Two")
        notes = [note for note in chat.shown(".note.warning") if "None was right." in note]
        assert notes == ["None was right. F5 chooses another model to guess, or none."]


async def test_the_chat_does_not_claim_proposals_where_nothing_can_propose(
    target: Path, draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NativeModel, "_warm_up", lambda model: False)  # it takes nothing back
    async with open_chat(target, draft, asked=("Alone?",)) as chat:
        (note,) = chat.shown(".note.warning")
        assert note.startswith("Answers come without guesses. ")
        assert "nothing can guess" in str(chat.screen.parts.status.render())


async def test_the_figures_say_why_no_model_guesses_as_the_chat_does(target: Path) -> None:
    async with open_chat(target) as chat:
        await chat.ready()
        (note,) = chat.shown(".note.warning")
        shown = " ".join(line.plain for line in chat.screen.parts.panel._explained(99))
        assert shown == f"{note.partition('. ')[2]} Figures come with the next answer."
