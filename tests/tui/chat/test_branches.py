"""The actions on messages, by their keys: edit, delete, retry, copy, fork."""

from functools import partial

import pytest

from assistant.events import Decoded, Prefilled, Token
from tests.stored import ask, begin, end
from tests.tui.chat.chat_driver import Chat, Pair, open_chat
from tests.tui.chat.turns import characters
from tui.chat.conversation.turn import Verb
from tui.chat.inspector import Inspector
from tui.chat.panel import NO_FIGURES
from tui.chat.status import line
from tui.chat.token_page import TokenPage
from tui.text.text_view import TextView


def inspected(chat: Chat) -> str:
    """The text whose tokens the inspector shows."""
    entries = chat.app.screen.query_one(TokenPage).entries
    return "".join(entry.item.text for entry in entries if isinstance(entry.item, Token))


async def test_the_focus_stays_on_the_shown_branch(pair: Pair) -> None:
    async with open_chat(*pair, asked=("Which way?",)) as chat:
        await chat.act("r")
        verbs: tuple[Verb, ...] = ("older", "newer", "older")
        for verb in verbs:
            turn = chat.focused
            chat.screen.turns.perform(turn, verb)
            focused = chat.focused  # before any other key can come
            assert focused is not turn
            assert focused.record == chat.path.leaf
            await chat.pilot.pause(0.1)
            assert chat.screen.focused is focused
        chat.screen.open(None)
        for late in ("regenerate", "continue", "delete", "fork", "edit", "inspect"):
            chat.screen.turns.perform(turn, late)
            await chat.pilot.pause()
        assert (chat.texts, chat.prompt.text) == ([], "")
        assert chat.app.screen is chat.screen


async def test_the_figures_are_of_the_shown_answer(pair: Pair) -> None:
    async with open_chat(*pair, size=(160, 60), asked=("Which way?",)) as chat:
        await chat.press("f3")
        await chat.act("r")
        panel, status = chat.screen.panel, chat.screen.status
        assert "Tokens per second" in chat.text
        chat.screen.turns.perform(chat.screen.conversation.turns[-1], "older")
        await chat.pilot.pause()
        assert NO_FIGURES in chat.text
        assert (panel.last, status.state.last) == (None, None)
        await chat.ask("And then?")
        assert NO_FIGURES not in chat.text
        chat.engine._hold = Prefilled, len(chat.engine.received(Prefilled)) + 1
        chat.engine.go_on.clear()
        await chat.send("And then?")
        await chat.held()
        assert NO_FIGURES in chat.text
        await chat.end()
        assert NO_FIGURES not in chat.text


async def test_the_status_is_never_ready_between_enter_and_the_answer(pair: Pair) -> None:
    async with open_chat(*pair) as chat:
        shown, status = list[str](), chat.screen.status
        chat.screen.watch(status, "state", lambda state: shown.append(line(state, 80).plain))
        await chat.ask("Which way?")
        assert not any("ready" in text for text in shown[1:])


async def test_escape_leaves_an_edited_question_and_a_deletion_can_be_undone(pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        before = chat.texts
        await chat.act("up", "e")
        await chat.pilot.press("escape")
        assert (chat.prompt.text, chat.texts) == ("", before)
        await chat.ask("Two")
        all_of_it = chat.texts
        assert len(all_of_it) == 4
        await chat.act("up", "d")
        assert chat.texts == before
        await chat.pilot.press("u")
        assert chat.texts == all_of_it
        await chat.until(lambda: chat.focused.text == "Two")
        assert chat.notices[-1] == "Undone."
        await chat.act("up", "d")
        chat.store._database._sql.execute("PRAGMA query_only = 1")
        for key in ("u", "f", "d"):  # undo, fork, delete
            await chat.act(key)
            assert chat.texts == before
            assert "cannot be opened or written" in chat.notices[-1]


async def test_the_inspector_opens_on_a_streaming_answer_and_on_others(pair: Pair) -> None:
    async with open_chat(*pair, asked=("First",)) as chat:
        first = chat.texts[-1]
        chat.engine._hold = Decoded, len(chat.engine.received(Decoded)) + 9
        chat.engine.go_on.clear()
        await chat.send("Second")
        await chat.held()
        before = chat.texts
        await chat.press("ctrl+up", "up", "d")  # which waits
        assert chat.texts == before
        await chat.press("ctrl+down", "i")
        assert isinstance(chat.app.screen, Inspector)
        assert "so far" in str(chat.app.screen.query_one("Head").render())
        seen = inspected(chat)
        assert seen
        assert seen == chat.screen.conversation.turns[-1].text
        await chat.press("escape", "up", "up", "i")
        assert inspected(chat) == first
        await chat.end()
        assert inspected(chat) == first
        await chat.pilot.press("escape")
        assert chat.texts[-1].startswith(seen)


def kept(chat: Chat, *texts: str) -> int:
    """Keep a conversation of these messages, and return its number."""
    store = chat.store
    conversation, parent = store.create(), None
    for place, text in enumerate(texts):
        if place % 2:
            parent = begin(store, conversation, parent or 0, "tiny").id
            end(store, parent, text, stop="stop-token")
        else:
            parent = ask(store, conversation, parent, text).id
    return conversation


async def copied(chat: Chat, text: str) -> None:
    """Wait until a text is on the clipboard."""
    await chat.until(lambda: chat.app.clipboard == text)


LARGE, SMALL = "```\na large\nblock\n```\n", "```\nsmall\n```\n"


async def test_y_copies_blocks_in_turn_first_the_largest_or_after_scrolling_a_visible_one(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.app.clipboard.TOOLS", ())
    code = "".join(f"First\n\n```\n{word}\n```\n\n" for word in ("one", "two", "three"))
    async with open_chat(*pair) as chat:
        chat.screen.open(kept(chat, "How?", code, "Why?", "```\nalone\n```"))
        await chat.act("y")
        await copied(chat, "alone")
        assert chat.notices[-1].startswith("Copied code block 1 of 1, 1 line")
        await chat.press("up", "up")
        for number, word in ((3, "three"), (1, "one"), (2, "two"), (3, "three")):
            await chat.pilot.press("y")
            await copied(chat, word)
            assert chat.notices[-1].startswith(f"Copied code block {number} of 3, 1 line")
        await chat.pilot.press("c")
        await copied(chat, code)
        await chat.pilot.press("y")
        await copied(chat, "three")
        chat.screen.open(kept(chat, "One", LARGE + "long\n\n" * 99 + SMALL))
        await chat.act("y")
        await copied(chat, "a large\nblock")
        assert chat.notices[-1].startswith("Copied code block 1 of 2, 2 lines")
        chat.screen.open(kept(chat, "One", SMALL + "long\n\n" * 99 + LARGE))
        await chat.act("home", "down", "y")
        await copied(chat, "small")
        chat.screen.open(kept(chat, "One", "Then:\n2. ```\ncut"))  # a list begins with 1
        await chat.act("y")
        assert chat.notices[-1] == "There is no code block in this message."


async def test_home_and_end_go_to_the_ends_of_a_conversation(pair: Pair) -> None:
    contents = [f"Message {i}" + "\n\nlong" * (i % 2) * 50 for i in range(60)]
    async with open_chat(*pair) as chat:
        chat.screen.open(kept(chat, *contents))
        await chat.press("ctrl+up", "home")
        assert chat.focused.text == contents[0]
        await chat.until(lambda: chat.screen.conversation.scroll_y < 2)
        await chat.press("ctrl+down", "down", "down", "down")
        place = chat.screen.conversation.scroll_y
        assert place > 0
        await chat.press("escape", "ctrl+up")
        assert (chat.focused.text, chat.screen.conversation.scroll_y) == (contents[1], place)
        await chat.press("end")
        assert chat.focused.text == contents[-1]
        await chat.until(lambda: chat.screen.conversation.follows)


async def test_a_search_result_opens_its_message_on_any_branch(pair: Pair) -> None:
    async with open_chat(*pair) as chat:
        store = chat.store
        texts = ["One", "a zebra", *["More", "of it"] * 10]
        long = kept(chat, *texts)
        first, second = store.path(long)[:2]
        other = begin(store, long, first.id, "tiny")
        end(store, other.id, "an okapi", stop="stop-token")
        store.choose(second.id)
        for word, text, record in (("zebra", "a zebra", second), ("okapi", "an okapi", other)):
            await chat.pilot.press("ctrl+n", "f2", *word, "enter")
            await chat.until(partial(chat.path.shows, record))
            turn, view = chat.focused, chat.screen.conversation
            assert turn.text == text
            await chat.until(partial(view.region.contains_region, turn.region))
            assert (word[0], "reverse") in characters(turn.query_one(TextView))
            await chat.pilot.press("f2", "escape")


async def test_an_answer_that_begins_does_not_move_the_focus(pair: Pair) -> None:
    async with open_chat(*pair, hold=(Decoded, 2), asking="One") as chat:
        await chat.send("Two")  # which waits
        await chat.press("ctrl+up", "up")
        at = chat.focused
        await chat.end()
        await chat.until(lambda: len(chat.texts) == 4 and chat.screen.session.idle)
        assert chat.focused is at
