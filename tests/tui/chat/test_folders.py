"""Questions about folders in the chat: attachment, sources, and waiting."""

import asyncio
from functools import partial
from pathlib import Path

import pytest

from assistant.events import Prefilled, TokenCount
from assistant.passages import folder_index
from assistant.request import EngineArgs
from assistant.session.attachments import ReadingLimits
from assistant.session.chat_session import ChatSession
from assistant.session.events import Preparing
from assistant.store.values import Attachment
from tests.assistant.passages.indexes import update_here, updated_after
from tests.tui.chat.chat_driver import Chat, Pair, open_chat, use_editor
from tests.tui.chat.prompt_driver import at_the_prompt
from tests.tui.chat.turns import characters
from tui.chat.conversation.answer import Answer
from tui.chat.dialogs import SourcesScreen

NOTES = Attachment("notes/", "")
BIRDS = "Zeppelins are moored at dusk in the harbour of Lima."


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(folder_index, "update", update_here)
    folder = tmp_path / "notes"
    (folder / "old").mkdir(parents=True)
    (folder / "air.md").write_text(f"# Air\n\n{BIRDS}\n")
    (folder / "old" / "rust.txt").write_text("Iron rusts.\n")
    return folder


# Attaching it


@pytest.mark.parametrize(
    ("typed", "name"),
    [("notes/", "notes/"), ("./notes/", "./notes/"), ("notes", "notes/"), ("My old", "My old/")],
)
async def test_a_folder_that_is_typed_is_attached_itself(typed: str, name: str) -> None:
    Path(name).mkdir(exist_ok=True)
    async with at_the_prompt() as typist:
        await typist.pick(typed)
        await typist.pilot.press("enter")
        await typist.until(lambda: typist.chips)
        assert typist.prompt.attachments == (Attachment(name, ""),)
        assert "searched for answers" in typist.row
        assert typist.app.wanted == []


async def test_a_folder_that_is_entered_offers_its_files_first_and_itself_above() -> None:
    async with at_the_prompt() as typist:
        await typist.pick("./no")
        await typist.pilot.press("enter")
        await typist.until(lambda: typist.prompt.picker.searched == "./notes/")
        assert typist.offered[0].startswith("./notes/  the folder itself")
        await typist.pilot.press("up", "enter")
        await typist.until(lambda: typist.chips)
        assert typist.prompt.attachments == (Attachment("./notes/", ""),)


async def test_a_long_text_is_asked_by_its_passages_unless_w_insists(notes: Path) -> None:
    (notes / "long.md").write_text(BIRDS * 400)
    whole = Attachment("notes/long.md", BIRDS * 400)
    async with at_the_prompt() as typist:
        typist.prompt.attached.limits = ReadingLimits(0.02, 8.0)
        for name in ("notes/air.md", "notes/long.md"):
            await typist.pick(name)
            await typist.pilot.press("enter")
            await typist.until(partial(lambda shown: shown in typist.row, name))
        short, asked = typist.prompt.attachments
        assert (short.name, short.is_folder) == ("notes/air.md", False)
        assert asked == Attachment("notes/long.md/", whole.text)
        assert "by passages; Ctrl+L w reads all of it in 2 min" in typist.row
        assert typist.prompt.attached.tokens < 100
        await typist.pilot.press("ctrl+l", "w", "escape")
        await typist.until(lambda: typist.prompt.attachments[1] == whole)
        typist.prompt.attached.add(asked)  # as it comes back with a question that is edited
        assert typist.prompt.attachments == (short, asked)
        await typist.paste(BIRDS * 400)
        assert [each.is_folder for each in typist.prompt.attachments] == [False, True, True]


async def test_no_key_reads_all_of_a_text_that_does_not_fit_into_the_context() -> None:
    async with at_the_prompt() as typist:
        typist.prompt.attached.limits = ReadingLimits(tokens=2000)
        await typist.paste(BIRDS * 400)
        assert "by passages that fit the question; all of it does not" in typist.row
        await typist.pilot.press("ctrl+l", "w", "escape")
        typist.prompt.attached.add(Attachment("air.md", BIRDS))
        await typist.until(lambda: len(typist.prompt.attachments) == 2)
        assert [each.is_folder for each in typist.prompt.attachments] == [True, False]


async def test_texts_that_together_take_long_to_read_are_read_as_far_as_time_allows() -> None:
    """Two thousand tokens are read in any case: here two files of three."""
    async with at_the_prompt() as typist:
        attached = typist.prompt.attached
        for name in ("a.md", "b.md", "c.md"):
            attached.add(Attachment(name, BIRDS * 70))
        assert not any(each.is_folder for each in attached.attachments)  # of unknown speed
        attached.limits = ReadingLimits(0.02, 12.0)
        assert [each.is_folder for each in attached.attachments] == [False, False, True]
        attached.show_count(attached.chips[0].attachment, TokenCount(10))
        assert not any(each.is_folder for each in attached.attachments)


async def test_a_folder_is_asked_about_until_it_is_removed() -> None:
    async with at_the_prompt() as typist:
        typist.prompt.attached.add(NOTES)
        typist.prompt.attached.add(Attachment("a.txt", "a"))
        await typist.type("Why?")
        await typist.pilot.press("enter")
        assert [len(sent.attachments) for sent in typist.app.sent] == [2]
        assert typist.prompt.attachments == (NOTES,)
        await typist.pilot.press("enter")  # says nothing by itself
        assert len(typist.app.sent) == 1
        assert typist.prompt.restore_input("Why not?", (NOTES, Attachment("notes/a", "a", 1, 1, 1)))
        assert typist.prompt.attachments == (NOTES,)  # passages are found again
        typist.prompt.editor.text = ""
        await typist.pilot.press("backspace")
        assert not typist.prompt.attachments


# Asking it


async def ask(chat: Chat, text: str = "Where are zeppelins moored?") -> None:
    """Ask about the folder."""
    await chat.ready()
    chat.prompt.attached.add(NOTES)
    await chat.ask(text)


async def test_passages_are_shown_and_open_at_their_line(
    pair: Pair, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    use_editor(tmp_path, monkeypatch, f'echo "$@" > {log}')
    async with open_chat(*pair, says="In Lima [1], says [7].") as chat:
        await ask(chat)
        await chat.until(lambda: any("[1] notes/air.md:" in text for text in chat.shown(".chips")))
        (foot,) = chat.shown(".footnote")
        assert foot.splitlines()[0].startswith("[1] notes/air.md:")
        assert foot.splitlines()[1] == "[7] is not a passage of this question."
        shown = chat.screen.query(Answer).last()
        await chat.until(lambda: ("7", "strike") in characters(shown))
        assert chat.prompt.attachments == (NOTES,)
        await chat.act("s")
        await chat.until(lambda: isinstance(chat.app.screen, SourcesScreen))
        assert any(BIRDS in str(each.render()) for each in chat.app.screen.query("Static"))
        await chat.press("enter")
        first = chat.path.records[-1].attachments[0].first
        assert log.read_text() == f"+{first} {notes}/air.md\n"
        (notes / "air.md").unlink()
        await chat.press("enter")
        assert "notes/air.md is gone" in chat.notices[-1]
        assert len(log.read_text().splitlines()) == 1


async def test_a_passage_that_is_quoted_but_not_cited_is_named_as_such(pair: Pair) -> None:
    async with open_chat(*pair, says=f"{BIRDS} So says [7].") as chat:
        await ask(chat)
        (foot,) = chat.shown(".footnote")
        assert foot.startswith("Quoted but not cited: [1] notes/air.md:")


async def test_sources_stay_when_a_conversation_is_opened_again_until_its_question_is_changed(
    pair: Pair,
) -> None:
    async with open_chat(*pair, says="In Lima [1].") as chat:
        await ask(chat)
        shown, number = chat.shown(".footnote"), chat.path.conversation
        await chat.press("ctrl+n")
        await chat.until(lambda: not chat.path.records)
        chat.screen.open(number)
        await chat.until(lambda: chat.shown(".footnote") == shown)
        assert any("[1] notes/air.md:" in text for text in chat.shown(".chips"))
        await chat.press("ctrl+up", "up", "e")
        await chat.until(lambda: chat.prompt.text == "Where are zeppelins moored?")
        assert chat.prompt.attachments == (NOTES,)
        await chat.ask("When does iron rust?")
        found = chat.path.records[-2].attachments[1:]
        assert [each.name for each in found] == ["notes/old/rust.txt"]


async def test_a_question_without_passages_is_noted_also_when_reopened(pair: Pair) -> None:
    expected = "Nothing in notes/ is about this; answered without it."
    async with open_chat(*pair, says="In an oven.") as chat:
        await ask(chat, "How is bread baked?")
        assert expected in chat.shown(".note")
        assert not any("answered without it" in text for text in chat.shown(".footnote"))
        number = chat.path.conversation
        await chat.press("ctrl+n")
        await chat.until(lambda: not chat.path.records)
        chat.screen.open(number)
        again = "Nothing was found in notes/ for this; answered without it."
        await chat.until(lambda: any(again in text for text in chat.shown(".footnote")))


async def test_notes_on_a_question_go_with_it(pair: Pair) -> None:
    async with open_chat(*pair) as chat:
        await ask(chat, "How is bread baked?")
        chat.engine._hold = Prefilled, len(chat.engine.received(Prefilled)) + 1
        chat.engine.go_on.clear()
        await chat.send("Who bakes it?")
        await chat.held()
        assert len(chat.shown(".note")) == 2
        chat.app._use_layers(chat.app.layers.choose(ctx=400))
        await chat.until(lambda: isinstance(chat.engine.jobs[-1], EngineArgs))
        await chat.end()
        await chat.until(lambda: chat.prompt.text == "Who bakes it?")
        assert len(chat.shown(".note")) == 1


async def test_an_answer_without_sources_has_no_key_for_them(pair: Pair) -> None:
    async with open_chat(*pair, asked=["Why?"], says="Nobody knows [1].") as chat:
        (answer,) = chat.screen.query(Answer)
        assert not answer.offers("sources")


async def test_passages_that_fit_are_prefilled_while_the_question_is_typed(pair: Pair) -> None:
    async with open_chat(*pair, idle="on") as chat:
        chat.prompt.attached.add(NOTES)
        await chat.until(lambda: any("2 files" in text for text in chat.notices))
        chat.prompt.editor.text = "Where are zeppelins"
        read = lambda: [j.request.messages[-1].content for j in chat.engine.jobs[1:]]  # noqa: E731
        await chat.until(
            lambda: any(BIRDS in text and text.endswith("zeppelins") for text in read())
        )


async def test_a_question_waits_for_its_folder(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    is_read, question = asyncio.Event(), "Where are zeppelins moored?"
    monkeypatch.setattr(folder_index, "update", updated_after(is_read))
    async with open_chat(*pair, says="In Lima [1].") as chat:
        chat.prompt.attached.add(NOTES)
        for _ in range(2):
            await chat.send(question)
            await chat.until(lambda: "reading notes/: 0 of 2 files" in chat.shown("Status")[0])
            await chat.press("escape")
            await chat.until(lambda: chat.prompt.text == question)
            assert chat.prompt.attachments == (NOTES,)
        await chat.press("enter")
        is_read.set()
        await chat.until(lambda: any("[1] notes/air.md:" in text for text in chat.shown(".chips")))


async def test_indexing_hides_no_other_progress(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(*pair) as chat:
        await chat.ready()
        monkeypatch.setattr(ChatSession, "idle", property(lambda _: False))
        show, status = chat.screen.controller.view.show, chat.screen.status
        show(Prefilled("target", 5, 10))
        before = status.state.activity
        for event in (Preparing("reading notes/: 1 of 2 files", 0.5), Preparing("Read.", None)):
            show(event)
            assert status.state.activity == before is not None
        await chat.until(lambda: "Read." in chat.notices)


async def test_folders_of_the_settings_are_read_at_the_start(pair: Pair, notes: Path) -> None:
    async with open_chat(*pair, about=(notes,)) as chat:
        await chat.until(lambda: any("2 files" in text for text in chat.notices))
