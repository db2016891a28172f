"""Several answers in the chat: side by side, all kept, one continued."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.app import App

from assistant.events import Answered, Event, Finished, OneOf, Ready, Stats, Stop
from assistant.settings.settings import Settings
from tests.tui.chat.chat_driver import Chat, Pair, open_chat
from tui.chat.screen import ChatScreen
from tui.chat.several_screen import SeveralScreen

COUNT = Settings().answers


def siblings(chat: Chat) -> list[str]:
    """Return what all answers to the last question say."""
    records = {record.id: record for record in chat.store.tree(chat.path.conversation or 0)}
    return [records[each].content for each in chat.path.records[-1].siblings]


def ended(chat: Chat) -> dict[int, Finished]:
    told = chat.engine.heard(OneOf)
    return {each.answer: each.event for each in told if isinstance(each.event, Finished)}


async def begin(chat: Chat, question: str) -> None:
    """Ask for several answers."""
    await chat.ready()
    chat.prompt.focus()
    chat.prompt.text = question
    await chat.pilot.press("ctrl+s")


@asynccontextmanager
async def held(pair: Pair, before: type[Event], number: int, **changes: Any) -> AsyncIterator[Chat]:
    """Ask for several answers, and stop the engine before an event."""
    async with open_chat(*pair, hold=(before, number), **changes) as chat:
        await begin(chat, "Which way?")
        await chat.held()
        yield chat


async def several(chat: Chat, question: str) -> SeveralScreen:
    """Ask for several answers, and wait for their end."""
    await chat.ready()
    over = len(chat.engine.heard(Answered))
    await begin(chat, question)
    await chat.until(lambda: len(chat.engine.heard(Answered)) > over)
    await chat.until(lambda: chat.screen.talk.idle)
    assert isinstance(chat.app.screen, SeveralScreen)
    return chat.app.screen


async def chosen(chat: Chat) -> None:
    await chat.until(lambda: isinstance(chat.app.screen, ChatScreen))
    await chat.until(lambda: chat.screen.talk.idle)


async def test_the_chosen_answer_is_continued_and_the_others_stay_beside_it(pair: Pair) -> None:
    async with open_chat(*pair) as chat:
        await several(chat, "Which way?")
        assert chat.engine.requests[-1].answers == COUNT
        await chat.pilot.press("right", "right", "enter")
        await chosen(chat)
        ends = [ended(chat)[i].text for i in range(COUNT)]
        assert len(set(ends)) == COUNT
        assert siblings(chat) == ends
        assert chat.said == ["Which way?", ends[2]]
        await chat.ask("On we go")
        assert [m.content for m in chat.engine.requests[-1].messages][:2] == ["Which way?", ends[2]]


async def test_the_last_question_is_answered_several_times_where_the_prompt_is_empty(
    pair: Pair,
) -> None:
    async with open_chat(*pair, asked=("Which way?",)) as chat:
        first = chat.said[-1]
        await several(chat, "")
        await chat.pilot.press("left", "enter")  # round, to the last
        await chosen(chat)
        assert len(siblings(chat)) == COUNT + 1
        assert siblings(chat)[0] == first
        assert chat.said == ["Which way?", ended(chat)[COUNT - 1].text]
        assert first not in siblings(chat)[1:]  # with a seed, too


@pytest.mark.parametrize(("key", "seen"), [("escape", 0), ("enter", 1)])
async def test_a_key_in_the_middle_stops_an_answer_keeps_it_and_begins_no_other(
    pair: Pair, key: str, seen: int
) -> None:
    async with held(pair, OneOf, 20, max_tokens=12, mode="ars") as chat:
        await chat.pilot.press("right", key)
        chat.engine.go_on.set()
        await chosen(chat)
        ends = ended(chat)
        assert [end.stop for end in ends.values()] == [Stop.LENGTH, Stop.CANCELLED]
        assert siblings(chat) == [ends[i].text for i in range(2)]
        assert chat.said == ["Which way?", ends[seen].text]
        assert chat.screen.focused is chat.prompt.editor
        await chat.ask("Still there?")


async def test_without_a_model_or_a_question_the_keys_say_why_nothing_happens(pair: Pair) -> None:
    async with open_chat(*pair, hold=(Ready, 1), answers=3) as chat:
        await chat.held()
        chat.prompt.text = "Which way?"
        await chat.pilot.press("ctrl+s")
        assert chat.prompt.text == "Which way?"
        await chat.end()
        await begin(chat, "")
        await chat.pilot.press("ctrl+r")
        assert chat.told == [
            "No models are loaded yet.",
            "Type a question first; it gets 3 answers.",
            "There is no question to answer yet.",
        ]
        assert isinstance(chat.app.screen, ChatScreen)
        assert not chat.engine.requests


SIZES = [
    (4, (200, 40), 4, 4),
    (4, (80, 24), 2, 4),
    (4, (12, 3), 1, 1),
    (8, (80, 24), 3, 8),
    (2, (40, 24), 1, 2),
]


@pytest.mark.parametrize(("count", "size", "columns", "seen"), SIZES)
async def test_answers_stand_side_by_side_where_there_is_room(
    count: int, size: tuple[int, int], columns: int, seen: int
) -> None:
    screen = SeveralScreen("Which way?", count)
    async with App[None]().run_test(size=size) as pilot:
        await pilot.app.push_screen(screen)
        await pilot.pause()
        shown = [column for column in screen.columns if column.display]
        assert len(shown) == seen
        assert len({column.region.x for column in shown}) == columns
        await pilot.press("right")
        assert [column.number for column in screen.columns if column.has_focus] == [1]
        assert screen.columns[1].display
        await pilot.resize_terminal(81, 25)
        await pilot.pause()
        assert sum(column.display for column in screen.columns) == count


async def test_the_answer_that_was_cut_in_mid_form_says_so() -> None:
    screen, stats = SeveralScreen("Which way?", 3), Stats("ars", generated_tokens=5)
    async with App[None]().run_test(size=(120, 24)) as pilot:
        await pilot.app.push_screen(screen)
        for number, (stop, complete) in enumerate(
            ((Stop.LENGTH, True), (Stop.LENGTH, False), (Stop.CANCELLED, False))
        ):
            screen.columns[number].take(Finished("{", (), stop, stats, complete))
        await pilot.pause()
        titles = [str(column.border_subtitle).strip() for column in screen.columns]
        assert titles == [
            "5 tokens · cut at the length limit",
            "5 tokens · cut before its form was complete",
            "5 tokens · stopped",
        ]
