"""Prompts that are sent during an answer are queued: none is lost or sent unasked."""

from pathlib import Path

from textual.events import Key

from assistant.events import Decoded
from assistant.store.values import Attachment
from tests.assistant.session.scripted_session import READ, Box
from tests.tui.chat.chat_driver import Chat, Pair, open_chat

HELD = Decoded, 2


def line(chat: Chat) -> list[str]:
    """Return what is seen of the line."""
    return "".join(chat.shown("PromptQueue")).splitlines() if chat.prompt.queue.display else []


def asked(chat: Chat) -> list[str]:
    """Return the questions on the screen."""
    return [record.content for record in chat.path.records if record.role == "user"]


async def test_prompts_sent_during_an_answer_are_asked_after_it_one_by_one(pair: Pair) -> None:
    async with open_chat(*pair, hold=HELD, asking="One") as chat:
        chat.prompt.attached.add(Attachment("a.txt", "text"))
        await chat.send("Two, which is too long to be seen whole in a window of eighty cells " * 2)
        for key in "Three\rmore":  # as fast as a terminal sends them
            key = {"\r": "enter"}.get(key, key)
            chat.prompt.editor.post_message(Key(key, key if len(key) == 1 else "\r"))
        await chat.until(lambda: chat.prompt.text == "more")
        first, second, third = line(chat)
        assert first == "2 queued · ↑ to edit"
        assert second.startswith("  Two, which is")
        queue = chat.prompt.queue
        await chat.until(lambda: queue.render_line(1).text.rstrip().endswith("…"))
        assert third == "  Three"
        assert asked(chat) == ["One"]
        await chat.end()
        await chat.until(lambda: len(asked(chat)) == 3 and chat.screen.session.idle)
        assert asked(chat)[2] == "Three"
        assert len(chat.texts) == 6
        assert chat.path.records[2].attachments == (Attachment("a.txt", "text"),)
        assert line(chat) == []
        assert chat.prompt.text == "more"


async def test_the_last_one_in_line_is_taken_back_to_be_edited(pair: Pair) -> None:
    async with open_chat(*pair, hold=HELD, asking="One") as chat:
        await chat.send("Two")
        chat.prompt.attached.add(Attachment("a.txt", "text"))
        await chat.send("Three")
        await chat.press("up")
        assert chat.prompt.text == "Three"
        assert chat.prompt.attachments
        assert line(chat)[1:] == ["  Two"]
        await chat.press("up")  # as ever, since the prompt is not empty
        assert chat.prompt.text == "Three"
        await chat.press("!", "enter")
        assert line(chat)[1:] == ["  Two", "  Three! @a.txt"]


async def test_after_a_stop_the_line_waits_until_enter_sends_the_next(pair: Pair) -> None:
    async with open_chat(*pair, hold=HELD, asking="One") as chat:
        await chat.send("Two")
        await chat.send("Three")
        await chat.press("enter")  # which means nothing now
        await chat.press("escape")
        await chat.end()
        assert asked(chat) == ["One"]
        assert line(chat)[0] == "2 queued · Enter sends the next · ↑ to edit"
        await chat.press("enter")
        await chat.until(lambda: len(asked(chat)) == 3 and chat.screen.session.idle)
        assert asked(chat) == ["One", "Two", "Three"]


async def test_after_a_failure_the_line_waits(pair: Pair) -> None:
    async with open_chat(*pair, hold=HELD, asking="One") as chat:
        await chat.send("Much " * 900)
        await chat.send("Three")
        await chat.end()
        await chat.until(lambda: chat.shown(".error"))
        assert line(chat)[1:] == ["  Three"]
        assert "Enter sends" in line(chat)[0]


async def test_a_call_that_waits_holds_the_line_up(pair: Pair) -> None:
    async with open_chat(*pair, hold=HELD, n_ctx=4096) as chat:
        await chat.ready()
        chat.use(Box())
        chat.engine.script.calls = [(READ,)]
        await chat.send("One")
        await chat.held()
        await chat.send("Two")
        await chat.end()
        await chat.until(lambda: chat.screen.controller.view.approval)
        assert "Enter sends" not in line(chat)[0]
        assert asked(chat) == ["One"]
        chat.screen.controller.session.tool_loop.resolve_approval("once")
        await chat.until(lambda: len(asked(chat)) == 2 and chat.screen.session.idle)
        roles = [record.role for record in chat.path.records]
        assert roles[-3:] == ["assistant", "user", "assistant"]


async def test_the_line_outlives_the_program_with_its_conversation(pair: Pair, home: Path) -> None:
    async with open_chat(*pair, hold=HELD, asking="One") as chat:
        chat.prompt.attached.add(Attachment("a.txt", "text"))
        await chat.send("Two")
        await chat.press("h", "i")
        await chat.screen.autosave.save()  # as every second; then it is killed
    async with open_chat(*pair) as chat:
        await chat.until(lambda: line(chat))
        assert line(chat)[1:] == ["  Two @a.txt"]
        assert chat.prompt.text == "hi"
        number = chat.path.conversation
        await chat.press("ctrl+n")
        assert line(chat) == []
        chat.screen.open(number)
        await chat.pilot.pause()
        assert line(chat)[1:] == ["  Two @a.txt"]
        assert chat.prompt.text == "hi"


async def test_a_question_whose_model_is_gone_returns_and_the_reason_stays(target: Path) -> None:
    async with open_chat(target, asked=["One"]) as chat:
        controller = chat.app.chat.controller
        controller.expect_models()
        await chat.send("Two")
        await chat.until(lambda: chat.footer.get("esc") == "Stop")
        controller.show_missing("It is gone.")
        await chat.until(lambda: chat.prompt.text == "Two" and "esc" not in chat.footer)
        assert chat.texts[0] == "One"
        assert "Two" not in chat.texts
        assert "It is gone." in chat.shown("Note")
