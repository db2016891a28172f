"""The inline chat without a terminal: attachments, and the list of conversations."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from unittest.mock import MagicMock, Mock

import pytest

from assistant.events import Decoded, ModelInfo, Ready
from assistant.session.attachments import LIMIT
from assistant.session.events import InputRestored
from assistant.session.unsent_text import Unsent
from assistant.settings.settings import Settings
from assistant.store.store import Store
from assistant.store.values import Attachment
from models.errors import UsageError
from tests.answer_stats import FIRST
from tests.stored import ask, begin, stream
from tui.chat.conversation.turn import when
from tui.inline.chat import InlineChat
from tui.inline.commands import SlashCommands
from tui.text.text_view import as_step

LONG = Attachment("long.md", "A walrus sleeps on ice.\n" * 400)
READY = Ready(ModelInfo("target", "t", Path("t"), 2000), None, "d.gguf has other tokens.")
PASSAGE = Attachment("notes/air.md", "Zeppelins are moored in Lima.", 1, 1, 1)


@pytest.fixture
def chat() -> InlineChat:
    """A chat of nothing yet, without a model."""
    chat = InlineChat(Settings(), Store(None))
    chat.prompt = Mock()
    return chat


async def test_a_text_that_cannot_fit_is_asked_by_its_passages_also_when_it_comes_back(chat):
    chat._handle(READY)
    assert "nothing can guess" not in chat.scrollback.open_lines(1)[0]  # without a draft it copies
    chat.attach(LONG)
    assert "1 attached" in chat.counts()
    chat.submit("Where do walruses sleep?")
    (question,) = chat.session.branch.records
    assert question.attachments == (LONG.by_passages,)
    shown = chat.scrollback.finished()
    assert "long.md does not fit into the context: asked by its passages." in shown
    assert "with long.md (by passages)" in shown
    chat._handle(InputRestored("Where?", (*question.attachments, PASSAGE)))
    assert chat.attachments == [LONG]
    chat.prompt.put.assert_called_once_with("Where?\n")  # before what is typed


async def test_a_paste_replaces_no_other_also_after_a_restart_and_is_refused_if_too_long() -> None:
    earlier, chat = (InlineChat(Settings(), Store(None)) for _ in range(2))
    earlier.prompt = chat.prompt = Mock(text=lambda: "")
    earlier.paste("a")
    chat.insert(earlier.typed)
    for text in ("b", "x" * (LIMIT + 1)):
        chat.paste(text)
    assert [file.text for file in chat.attachments] == ["a", "b"]
    chat.queued = Unsent("one"), Unsent("two")
    chat.stop()  # each goes before the next
    assert [call.args for call in chat.prompt.put.call_args_list[-2:]] == [("two",), ("one",)]
    assert "10,000,001 characters; 10,000,000 fit." in chat.scrollback.finished()


async def test_a_file_is_sent_once_and_may_have_blanks_in_its_name(chat, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("my", "my file.txt", "b.md"):
        Path(name).write_text(name)
    chat._handle(READY)
    chat.add([Attachment("notes/", "")])  # a folder, which stays
    chat.submit("Is @my file.txt, or @my? And me@b.md (@b.md)\nor @b.md. @none @c.md. @ @no/d @my")
    (question,) = chat.session.branch.records
    assert [file.name for file in question.attachments[1:]] == ["my file.txt", "my", "b.md"]
    assert [file.name for file in chat.attachments] == ["notes/"]
    assert "There is no file c.md, no/d: sent as text only." in chat.scrollback.finished()
    code = '@app.route("/x")\n@functools.cache\n@b.md\ndef f(): ...'
    chat.submit(f"What is wrong?\n{code}")
    assert [file.name for file in chat.queued[-1].attachments] == ["notes/"]
    assert "There is no file" not in chat.scrollback.finished()
    Path("b.md").write_bytes(b"\0\1\2")
    for question in ("/tmp/x is @b.md", "/tmp is @b.md"):
        SlashCommands(chat).enter(question)
        chat.prompt.put.assert_called_with(question)
    SlashCommands(chat).enter("/hlep me")
    assert "There is no /hlep; /help lists the commands; a line" in chat.scrollback.finished()
    SlashCommands(chat).enter(" /hlep me")
    assert chat.queued[-1].text == " /hlep me"


async def test_conversations_are_listed_with_dates_and_open_with_who_writes_in_them(chat):
    store = chat.store
    question = ask(store, number := store.create("A chat"), None, "The question")
    rounds = as_step("Half"), as_step(" later")  # which came since the text was read
    stream(store, begin(store, number, question.id, "t").id, "Half", rounds)
    chat.prompt, commands = Mock(text=lambda: ""), SlashCommands(chat)
    commands.enter("/chats")
    commands.enter(f"/open {number}")
    (row,) = store.summaries()
    shown = chat.scrollback.finished()
    assert f"{when(row.updated)}  A chat" in shown
    assert "another specchat is writing this answer" in shown
    assert ("Half" in shown, "later" in shown) == (True, False)
    assert "There are more" not in shown
    for number in range(20):
        store.create(f"Chat {number}")
    commands.enter("/chats")
    assert "There are more than 20; /chats WORDS finds others." in chat.scrollback.finished()


async def test_a_line_that_is_no_reply_to_a_question_of_the_program_is_handled_as_without(chat):
    commands, written = SlashCommands(chat), list[str]()
    for line in ("Yes ", "", "n", "What about this?", "/help"):
        commands._changes = [change := Mock(file=Mock(path=Path(__file__)))]
        change.name = "a.py"
        change.write = lambda _, line=line: written.append(line)
        commands.enter(line)
        assert commands._changes == []
    assert written == ["Yes "]
    assert [record.content for record in chat.session.branch.records] == ["What about this?"]
    shown = chat.scrollback.finished()
    assert shown.count("Not written.") == 4
    assert "/chats" in shown


async def test_a_failed_reply_is_not_put_back_into_the_prompt(chat):
    commands = SlashCommands(chat)
    commands._changes = [change := Mock(), following := Mock(hunks=(), warnings=())]
    change.write.side_effect, following.file.path = UsageError("It has changed."), "b.py"
    commands.enter("y")
    assert commands._changes == [following]
    shown = chat.scrollback.finished()
    assert shown.index("It has changed.") < shown.index("Write b.py?")
    chat.prompt.put.assert_not_called()


async def test_an_error_of_the_loop_without_an_exception_is_shown(chat):
    chat._fail(None, "A task was destroyed.")
    assert "A task was destroyed." in chat.scrollback.finished()


async def test_another_conversation_has_no_figures_of_the_last_one(chat):
    chat.scrollback.show(Decoded((), (), 0, 70, FIRST))
    assert chat.scrollback.status.last is not None
    SlashCommands(chat).enter("/new")
    assert chat.scrollback.status.last is None


async def test_a_model_is_chosen_while_others_load_and_settings_change(chat, monkeypatch):
    may_end = threading.Event()
    await chat.load("nowhere")  # does not end the program, which has no model yet
    assert "No model is called 'nowhere'." in chat.scrollback.finished()
    monkeypatch.setattr(Settings, "setup", lambda _: (may_end.wait(), None))
    loaded = MagicMock(**{"__aiter__.return_value": [READY]})
    monkeypatch.setattr(chat._engine, "do", lambda _: loaded)
    loading = asyncio.create_task(chat.load("elsewhere"))
    await asyncio.sleep(0)
    chat.apply(replace(chat.settings, mode="ars"))
    may_end.set()
    await loading
    assert (chat.settings.target, chat.settings.mode) == ("elsewhere", "ars")
    assert "d.gguf has other tokens." in chat.scrollback.finished()
