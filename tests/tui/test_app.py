"""The chat, by its keys, on real models."""

from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.content import Content
from textual.widgets import Static

from assistant.events import Decoded, Failed, Finished, Origin, Prepared, Ready, Stop, Token
from tests.tui.chat import open_chat
from tui.safe import safe
from tui.screens.help import HelpScreen
from tui.widgets.answer import LONGEST, Answer
from tui.widgets.origins import COLOURED


def characters(answer: Answer) -> list[tuple[str, str]]:
    """Return every character of a finished answer as it is shown, with its style."""
    seen: list[tuple[str, str]] = []
    for chunk in answer.query(".chunk").results(Static):
        content = chunk.content
        assert isinstance(content, Content)
        styles = [""] * len(content.plain)
        for span in content.spans:
            styles[span.start : span.end] = [str(span.style)] * (span.end - span.start)
        seen += [*zip(content.plain, styles, strict=True), ("\n", "")]
    return seen[:-1]


async def test_enter_sends_and_the_answer_is_shown(target: Path, draft: Path) -> None:
    async with open_chat(target, draft) as chat:
        await chat.ready()
        await chat.pilot.press(*"Hi", "enter")
        await chat.until(lambda: chat.engine.heard(Finished))
        await chat.until(lambda: not chat.screen.dialogue.busy)
        text = chat.engine.heard(Finished)[0].text
        assert chat.shown(".user") == ["Hi"]
        assert "".join(char for char, _ in characters(chat.screen.query_one(Answer))) == safe(text)
        assert [message.content for message in chat.screen.dialogue.messages] == ["Hi", text]
        assert chat.prompt.text == ""


async def test_highlighted_characters_are_those_the_engine_accepted(
    target: Path, draft: Path
) -> None:
    async with open_chat(target, draft, max_tokens=150) as chat:
        await chat.ask("Which are yours?")
        tokens = [token for event in chat.engine.heard(Decoded) for token in event.tokens]
        assert {token.origin for token in tokens} == set(Origin)
        expected = [(char, COLOURED[t.origin]) for t in tokens for char in safe(t.text)]
        shown = characters(chat.screen.query_one(Answer))
        assert [(c, s) for c, s in expected if c != "\n"] == [(c, s) for c, s in shown if c != "\n"]


async def test_prompt_sent_while_loading_is_answered_when_the_models_are_there(
    target: Path, draft: Path
) -> None:
    async with open_chat(target, draft, hold=(Ready, 1)) as chat:
        await chat.held()
        await chat.send("Am I early?")
        assert chat.shown(".user.waiting") == ["Am I early?"]
        await chat.end()
        await chat.until(lambda: chat.engine.heard(Finished))
        assert chat.shown(".user.waiting") == []


async def test_mode_changes_in_the_middle_of_an_answer(target: Path, draft: Path) -> None:
    async with open_chat(target, draft, mode="ars", hold=(Decoded, 6)) as chat:
        await chat.ready()
        await chat.send("Faster, please")
        await chat.held()
        await chat.pilot.press("ctrl+t", "ctrl+t")
        assert chat.screen.mode == "sps"
        await chat.end()
        lookaheads = [event.lookahead for event in chat.engine.heard(Decoded)]
        assert lookaheads[:6] == [0] * 6
        assert lookaheads[6] == 3
        assert len(chat.engine.requests) == 1


async def test_escape_stops_the_answer_and_keeps_its_text(target: Path, draft: Path) -> None:
    async with open_chat(target, draft, hold=(Decoded, 4)) as chat:
        await chat.ready()
        await chat.send("Go on")
        await chat.held()
        await chat.pilot.press("escape")
        await chat.end()
        finished = chat.engine.heard(Finished)[0]
        assert (finished.stop, finished.stats.rounds) == (Stop.CANCELLED, 4)
        assert chat.shown(".footnote")[0].startswith("stopped · ")
        assert chat.screen.dialogue.messages[-1].content == finished.text != ""
        await chat.ask("And then?")
        assert chat.engine.requests[1].messages[1].content == finished.text
        assert chat.engine.heard(Prepared)[1].cached_tokens > 0


async def test_second_turn_evaluates_only_what_is_new(target: Path, draft: Path) -> None:
    async with open_chat(target, draft) as chat:
        await chat.ask("One")
        await chat.ask("Two")
        first, second = chat.engine.heard(Prepared)
        assert first.cached_tokens == 0
        assert second.cached_tokens >= first.prompt_tokens


async def test_without_a_draft_the_reason_is_shown_and_the_answer_comes(target: Path) -> None:
    async with open_chat(target) as chat:
        await chat.ask("Alone?")
        assert any("draft" in note for note in chat.shown(".note.warning"))
        assert {event.lookahead for event in chat.engine.heard(Decoded)} == {0}
        assert "no draft" in str(chat.screen.status.render())


async def test_failed_prompt_is_back_in_the_prompt_and_the_app_lives_on(
    target: Path, draft: Path
) -> None:
    async with open_chat(target, draft) as chat:
        too_long = "a b " * 1000
        await chat.ask(too_long)
        assert chat.engine.heard(Failed)[0].kind == "ContextFull"
        assert chat.prompt.text == too_long
        assert len(chat.shown(".note.error")) == 1
        assert len(chat.app._notifications) == 1
        assert chat.screen.dialogue.messages == ()
        await chat.ask("Short")
        assert len(chat.screen.dialogue.messages) == 2


async def test_model_that_cannot_be_loaded_gives_the_waiting_prompt_back(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF and nothing else")
    async with open_chat(broken, hold=(Failed, 1)) as chat:
        await chat.held()
        await chat.send("Hello?")
        chat.engine.go_on.set()
        await chat.until(lambda: chat.shown(".note.error"))
        assert chat.prompt.text == "Hello?"
        assert chat.shown(".user") == []


async def test_stop_before_the_first_word_gives_the_prompt_back(target: Path, draft: Path) -> None:
    async with open_chat(target, draft, hold=(Ready, 1)) as chat:
        await chat.held()
        await chat.send("Wait, no")
        await chat.pilot.press("escape")
        assert chat.prompt.text == "Wait, no"
        assert chat.shown(".user") == []


async def test_new_conversation_forgets_the_old_one(target: Path, draft: Path) -> None:
    async with open_chat(target, draft, system="Be brief.", hold=(Decoded, 4)) as chat:
        await chat.ready()
        await chat.send("Long story")
        await chat.held()
        await chat.pilot.press("ctrl+n", "ctrl+n")
        await chat.end()
        assert [message.role for message in chat.screen.dialogue.messages] == ["system"]
        assert chat.shown(".user, .answer .chunk") == []


async def test_control_characters_are_shown_not_obeyed(target: Path, draft: Path) -> None:
    async with open_chat(target, draft) as chat:
        await chat.ask("[red]\x1b[31mred\x07")
        assert chat.shown(".user") == [safe("[red]\x1b[31mred\x07")]
        assert "\x1b" not in "".join(chat.shown(".user, .chunk"))
        assert chat.engine.requests[0].messages[0].content == "[red]\x1b[31mred\x07"


async def test_long_answer_is_laid_out_in_parts_and_complete() -> None:
    class Page(App[None]):
        def compose(self) -> ComposeResult:
            yield Answer()

    async with Page().run_test() as pilot:
        answer = pilot.app.query_one(Answer)
        lines = [f"line {number} of a long answer\n" for number in range(300)]
        for line in [*lines, *["no end to this one "] * 600]:
            answer.add([Token(0, line, Origin.TARGET, None, 1.0, None)])
        answer.finish("")
        await pilot.pause()
        chunks = [str(chunk.render()) for chunk in answer.query(".chunk").results(Static)]
        assert max(len(chunk) for chunk in chunks) <= LONGEST + 100
        text = "".join(lines) + "no end to this one " * 600
        assert "".join(chunks).replace("\n", "") == text.replace("\n", "")


async def test_reader_who_has_scrolled_up_stays_there(target: Path, draft: Path) -> None:
    async with open_chat(target, draft, max_tokens=200, hold=(Decoded, 60)) as chat:
        await chat.ready()
        await chat.send("\n".join("abcdefghijklmnopqrstuvwxyz"))
        await chat.held()
        view = chat.screen.conversation
        assert view.max_scroll_y > 0
        assert view.scroll_y == view.max_scroll_y
        await chat.pilot.press("ctrl+home")
        await chat.until(lambda: view.scroll_y == 0)
        await chat.end()
        assert view.scroll_y == 0
        await chat.pilot.press("ctrl+end")
        await chat.until(lambda: view.scroll_y == view.max_scroll_y)


async def test_app_can_be_quit_from_the_help(target: Path) -> None:
    async with open_chat(target) as chat:
        await chat.pilot.press("f1")
        assert isinstance(chat.app.screen, HelpScreen)
        await chat.pilot.press("ctrl+q")
        assert chat.app._exit


@pytest.mark.parametrize("size", [(200, 60), (40, 10), (10, 3), (1, 1)])
async def test_every_size_works(target: Path, draft: Path, size: tuple[int, int]) -> None:
    async with open_chat(target, draft, size=size) as chat:
        await chat.ask("Small?")
        await chat.pilot.press("f1", "escape", "ctrl+o", "escape")
        assert len(chat.screen.dialogue.messages) == 2
