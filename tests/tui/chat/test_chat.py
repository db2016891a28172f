"""The chat by its keys, with tiny models."""

from pathlib import Path

import pytest

from assistant.events import Decoded, Failed, Finished, Prepared, Ready, Stop
from tests.tui.chat.chat_driver import Pair, open_chat
from tui.race.screen import RaceScreen


async def test_mode_changes_in_the_middle_of_an_answer(pair: Pair) -> None:
    async with open_chat(*pair, mode="ars", hold=(Decoded, 6), asking="Faster, please") as chat:
        await chat.pilot.press("ctrl+t", "ctrl+t")
        assert chat.app.settings.mode == "sps"
        await chat.end()
        lookaheads = [event.lookahead for event in chat.engine.received(Decoded)]
        assert lookaheads[:6] == [0] * 6
        assert lookaheads[6] == 3
        assert len(chat.engine.requests) == 1


async def test_escape_stops_the_answer_and_keeps_its_text(pair: Pair) -> None:
    async with open_chat(*pair, hold=(Decoded, 4), asking="Go on") as chat:
        await chat.pilot.press("escape")
        await chat.end()
        finished = chat.engine.received(Finished)[0]
        assert (finished.stop, finished.stats.rounds) == (Stop.CANCELLED, 4)
        assert chat.shown(".footnote")[0].startswith("stopped · ")
        assert chat.texts[-1] == finished.text != ""
        await chat.ask("And then?")
        assert chat.engine.requests[1].messages[1].content == finished.text
        first, second = chat.engine.received(Prepared)
        assert second.cached_tokens >= first.prompt_tokens


@pytest.mark.parametrize(
    ("source", "note"), [(None, "from the conversation alone"), ("model", "without guesses")]
)
async def test_the_lack_of_a_draft_is_explained(
    target: Path, source: str | None, note: str
) -> None:
    async with open_chat(target, source=source, asked=("Alone?",)) as chat:
        assert any(note in text for text in chat.shown(".note.warning"))
        assert "model" not in chat.engine.received(Finished)[0].stats.sources
        assert ("nothing can guess" in str(chat.screen.status.render())) is (source == "model")
        if source == "model":
            assert {event.lookahead for event in chat.engine.received(Decoded)} == {0}


async def test_a_failed_prompt_is_restored_now_and_at_the_next_start(pair: Pair) -> None:
    too_long = "a b " * 1000
    async with open_chat(*pair) as chat:
        await chat.ask(too_long)
        assert chat.engine.received(Failed)[0].kind == "ContextFull"
        assert chat.prompt.text == too_long
        assert len(chat.shown(".note.error")) == 1
        assert not chat.app._notifications  # once is enough
        assert chat.texts == []
        await chat.pilot.press("ctrl+q")
    async with open_chat(*pair) as chat:
        assert chat.prompt.text == too_long
        await chat.ask(too_long)  # the app continues
        chat.prompt.drop()
        await chat.ask("Short")
        assert len(chat.texts) == 2


async def test_a_chat_works_at_every_size(pair: Pair) -> None:
    async with open_chat(*pair, size=(1, 1)) as chat:
        for count, size in enumerate([(1, 1), (10, 3), (40, 10)], 1):
            await chat.pilot.resize_terminal(*size)
            await chat.ask("| a |\n|-|\n| 1 |")
            keys = ("f1", "escape", "ctrl+o", "escape", "f3", "escape", "ctrl+up", "v", "escape")
            await chat.pilot.press(*keys)
            assert len(chat.texts) == 2 * count


async def test_a_race_requested_during_a_load_starts_after_it(pair: Pair) -> None:
    async with open_chat(*pair, hold=(Ready, 1)) as chat:
        await chat.press("f5")  # no first start: a model is on its way
        assert not chat.app.screen.query("#welcome")
        await chat.press("escape")
        chat.prompt.editor.text = "Count to five"
        await chat.press("f4")
        assert "once the models are loaded" in "".join(chat.notices)
        await chat.end()
        await chat.until(lambda: isinstance(chat.app.screen, RaceScreen))
