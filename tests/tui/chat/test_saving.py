"""The chat saves conversations and typed text, and the next start restores them."""

import sqlite3
from pathlib import Path
from threading import Event

import pytest
from textual.events import AppBlur, AppFocus

from assistant.events import Decoded
from assistant.store.files import database_path
from assistant.store.store import Store
from assistant.store.values import StoredMessage, unsent
from tests.patience import WAIT_S
from tests.stored import ask, end
from tests.tui.chat.chat_driver import Pair, open_chat


async def test_the_next_start_continues_where_the_user_left_off(pair: Pair, home: Path) -> None:
    async with open_chat(*pair, asked=("Remember me",)) as chat:
        before = chat.texts
        chat.prompt.editor.text = "half a thou"
        assert not chat.screen.panel.display
        await chat.pilot.press("f3", "ctrl+q")
    async with open_chat(*pair) as chat:
        assert chat.texts == before
        assert [turn.text for turn in chat.screen.conversation.turns] == before
        assert chat.prompt.text == "half a thou"
        assert chat.screen.panel.display
        chat.prompt.drop()
        await chat.pilot.press("up")
        assert chat.prompt.text == "Remember me"
        chat.prompt.drop()
        await chat.ask("And now?")
        assert [m.content for m in chat.engine.requests[0].messages] == [*before, "And now?"]
        await chat.until(lambda: (home / "ngrams").exists())  # learnt from what was said
        # Its tokens are those it was decoded as, in another process too.
        assert chat.engine.requests[0].messages[1].token_ids


async def test_questions_that_are_sent_before_the_store_opens_begin_a_conversation_there(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(*pair, asked=("Earlier",)):
        may_open = Event()
    monkeypatch.setattr(Store, "back_up", lambda store: may_open.wait(WAIT_S))
    async with open_chat(*pair, hold=(Decoded, 999)) as chat:
        await chat.send("One")
        await chat.send("Two")
        await chat.until(lambda: chat.screen.controller.ready)
        assert (chat.texts, len(chat.prompt.queued)) == ([], 2)
        assert not chat.prompt.queue.paused
        may_open.set()
        await chat.until(lambda: len(chat.texts) == 4 and chat.screen.session.idle)
        assert chat.store.path(2) == chat.path.records
        assert chat.texts[::2] == ["One", "Two"]


async def test_a_store_that_comes_after_the_end_is_closed(pair: Pair, tmp_path: Path) -> None:
    store = Store(tmp_path / "late.db")
    async with open_chat(*pair) as chat:
        app = chat.app
    app.use_store(store)
    with pytest.raises(sqlite3.ProgrammingError):
        store.newest()


async def test_an_answer_and_what_is_typed_are_kept_meanwhile_and_when_one_quits(
    pair: Pair,
) -> None:
    async with open_chat(*pair, hold=(Decoded, 8), asking="Stream") as chat:
        await chat.until(lambda: chat.screen.conversation.turns[-1].text)
        seen = chat.screen.conversation.turns[-1].text
        chat.prompt.editor.text = "more"
        other = Store(database_path())
        (summary,) = other.summaries()
        await chat.until(lambda: other.path(summary.id)[-1].content == seen)
        assert other.path(summary.id)[-1].state == "streaming"
        await chat.until(lambda: "more" in (other.recall(unsent(summary.id, None)) or ""))
        assert other.recall("open") == str(summary.id)
        other.close()
        await chat.pilot.press("ctrl+q")
    async with open_chat(*pair) as chat:
        question, answer = chat.path.records
        assert (question.content, answer.content, answer.state) == ("Stream", seen, "stopped")


async def test_nothing_is_written_when_nothing_is_to_be_kept(pair: Pair, home: Path) -> None:
    async with open_chat(*pair, save=False, asked=("Secret",)) as chat:
        assert len(chat.texts) == 2
        await chat.screen.autosave.save()
    assert not (home / "ngrams").exists()
    assert not [path for path in home.rglob("*") if path.is_file() and path.suffix == ".db"]


async def test_a_store_that_cannot_be_opened_leaves_the_chat_usable(pair: Pair, home: Path) -> None:
    home.write_text("in the way")
    async with open_chat(*pair, asked=("Still there?",)) as chat:
        assert len(chat.texts) == 2
        assert "not saved" in "".join(chat.shown("Banner"))


async def test_the_first_conversation_is_listed_while_it_is_answered(pair: Pair) -> None:
    async with open_chat(*pair, size=(120, 40), hold=(Decoded, 2)) as chat:
        await chat.ready()
        await chat.pilot.press("f2")
        await chat.until(lambda: "No conversations" in "".join(chat.shown("#chats-hint")))
        await chat.send("Listed at once")
        await chat.held()
        await chat.until(lambda: chat.screen.chats.rows.listing.summaries)
        assert "".join(chat.shown("#chats-hint")) == ""
        await chat.end()


async def test_a_conversation_deleted_for_good_is_no_reason_to_complain(pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)):
        pass
    store = Store(database_path())
    store.delete(store.summaries()[0].id)
    store.close()
    async with open_chat(*pair) as chat:
        assert chat.texts == []
        assert "not saved" not in "".join(chat.shown("Banner"))


async def test_the_head_says_of_each_conversation_whether_it_is_saved(pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        other = Store(database_path())
        other.remove(other.summaries()[0].id)
        other.close()
        await chat.ask("Two")
        assert "not saved" in "".join(chat.shown("Banner"))
        await chat.pilot.press("ctrl+n")
        await chat.ask("Three")
        assert "not saved" not in "".join(chat.shown("Banner"))


async def test_an_answer_that_another_program_writes_is_shown_as_such(pair: Pair) -> None:
    other = Store(database_path())
    question = ask(other, number := other.create("Elsewhere"), None, "How?")
    answer = StoredMessage(0, question.id, "assistant", "Half of", 1.0, "streaming")
    answer = other.append(number, answer)
    async with open_chat(*pair) as chat:
        chat.screen.open(number)
        elsewhere = ["another specchat is writing this answer"]
        await chat.until(lambda: chat.shown(".footnote") == elsewhere)
        assert chat.texts == ["How?", "Half of"]
        end(other, answer.id, "Half of it.", stop="stop-token")
        chat.screen.conversation.release_anchor()  # as a reader further up has
        for event in (AppBlur(), AppFocus(), AppBlur()):
            chat.app.post_message(event)
        await chat.pilot.pause()
        assert chat.texts == ["How?", "Half of"]
        chat.screen.conversation.anchor()
        chat.app.post_message(AppFocus())
        await chat.until(lambda: chat.texts == ["How?", "Half of it."])
        assert "another" not in "".join(chat.shown(".footnote"))
    other.close()
