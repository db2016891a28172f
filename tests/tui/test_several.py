"""Several answers at once in the chat: side by side, all kept, one gone on with."""

from pathlib import Path

import pytest

from assistant.events import Answered, Finished, OneOf, Prepared
from assistant.store import Store
from tests.tui.chat import Chat, open_chat
from tui.chat.several import COUNT
from tui.screens.chat import ChatScreen
from tui.screens.several import SeveralScreen

Pair = tuple[Path, Path]


@pytest.fixture
def pair(target: Path, draft: Path) -> Pair:
    return target, draft


def siblings(chat: Chat) -> list[str]:
    """Return what all answers to the last question say."""
    dialogue = chat.screen.dialogue
    records = {record.id: record for record in dialogue.store.tree(dialogue.conversation or 0)}
    return [records[each].content for each in dialogue.records[-1].siblings]


def ended(chat: Chat) -> dict[int, Finished]:
    told = chat.engine.heard(OneOf)
    return {each.answer: each.event for each in told if isinstance(each.event, Finished)}


async def several(chat: Chat, question: str) -> SeveralScreen:
    """Ask for several answers, and wait for their end."""
    await chat.ready()
    over = len(chat.engine.heard(Answered))
    chat.prompt.focus()
    chat.prompt.text = question
    await chat.pilot.press("ctrl+s")
    await chat.until(lambda: len(chat.engine.heard(Answered)) > over)
    await chat.until(lambda: not chat.screen.exchange.busy)
    assert isinstance(chat.app.screen, SeveralScreen)
    return chat.app.screen


async def chosen(chat: Chat) -> None:
    await chat.until(lambda: isinstance(chat.app.screen, ChatScreen))
    await chat.until(lambda: not chat.screen.exchange.busy)


async def test_the_chosen_answer_is_gone_on_with_and_the_others_stay_beside_it(pair: Pair) -> None:
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
    async with open_chat(*pair) as chat:
        await chat.ask("Which way?")
        first = chat.said[-1]
        await several(chat, "")
        await chat.pilot.press("left", "enter")  # round, to the last
        await chosen(chat)
        assert len(siblings(chat)) == COUNT + 1
        assert siblings(chat)[0] == first
        assert chat.said == ["Which way?", ended(chat)[COUNT - 1].text]
        assert first not in siblings(chat)[1:]  # with a seed, too


async def test_esc_stops_keeps_all_and_shows_the_first(pair: Pair) -> None:
    async with open_chat(*pair, hold=(OneOf, 20), max_tokens=400) as chat:
        await chat.ready()
        chat.prompt.text = "Which way?"
        await chat.pilot.press("ctrl+s")
        await chat.held()
        await chat.pilot.press("right", "escape")
        chat.engine.go_on.set()
        await chosen(chat)
        ends = ended(chat)
        assert all(0 < end.stats.generated_tokens < 400 for end in ends.values())
        assert siblings(chat) == [ends[i].text for i in range(COUNT)]
        assert chat.said == ["Which way?", ends[0].text]
        assert chat.screen.focused is chat.prompt.editor
        await chat.ask("Still there?")


async def test_enter_in_the_middle_stops_the_others_and_keeps_them(pair: Pair) -> None:
    async with open_chat(*pair, hold=(OneOf, 20), max_tokens=400) as chat:
        await chat.ready()
        chat.prompt.text = "Which way?"
        await chat.pilot.press("ctrl+s")
        await chat.held()
        await chat.pilot.press("right", "enter")
        chat.engine.go_on.set()
        await chosen(chat)
        assert chat.said == ["Which way?", ended(chat)[1].text]
        assert len(siblings(chat)) == COUNT


async def test_a_stop_before_the_first_word_leaves_the_question(pair: Pair) -> None:
    async with open_chat(*pair, hold=(Prepared, 1)) as chat:
        await chat.ready()
        chat.prompt.text = "Which way?"
        await chat.pilot.press("ctrl+s")
        await chat.held()
        await chat.pilot.press("escape")
        chat.engine.go_on.set()
        await chosen(chat)
        assert chat.said == ["Which way?"]
        await chat.pilot.press("ctrl+r")
        await chat.until(lambda: chat.engine.heard(Finished))


async def test_what_there_is_of_all_answers_is_kept_when_the_app_is_closed(
    pair: Pair, home: Path
) -> None:
    async with open_chat(*pair, hold=(OneOf, 20), max_tokens=400) as chat:
        await chat.ready()
        chat.prompt.text = "Which way?"
        await chat.pilot.press("ctrl+s")
        await chat.held()
        await chat.pilot.pause(0.1)
    store = Store(home / "chats.db")
    question, first = store.path(1)
    kept = {record.id: record for record in store.tree(1)}
    assert [kept[each].state for each in first.siblings] == ["stopped"] * COUNT
    assert all(kept[each].content for each in first.siblings)
    assert question.content == "Which way?"
    store.close()


async def test_without_a_question_or_a_model_the_key_says_why_nothing_happens(pair: Pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.ready()
        await chat.pilot.press("ctrl+s")
        assert isinstance(chat.app.screen, ChatScreen)
        assert not chat.engine.requests
        assert any("question" in note.message for note in chat.app._notifications)


@pytest.mark.parametrize(
    ("size", "columns", "seen"),
    [((200, 40), 4, 4), ((80, 24), 2, 4), ((40, 10), 1, 1), ((12, 3), 1, 1)],
)
async def test_answers_stand_side_by_side_where_there_is_room(
    pair: Pair, size: tuple[int, int], columns: int, seen: int
) -> None:
    async with open_chat(*pair, size=size) as chat:
        screen = await several(chat, "Which way?")
        shown = [column for column in screen.columns if column.display]
        assert len(shown) == seen
        assert len({column.region.x for column in shown}) == columns
        await chat.pilot.press("right")
        assert [column.number for column in screen.columns if column.has_focus] == [1]
        assert screen.columns[1].display
        await chat.pilot.resize_terminal(81, 25)
        await chat.pilot.pause()
        assert sum(column.display for column in screen.columns) == COUNT
