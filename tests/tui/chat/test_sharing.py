"""A conversation that is open in two instances at once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from assistant.events import Decoded
from assistant.store import Store, place
from models.errors import StorageError
from tests.tui.chat.chat_driver import Chat, Pair, open_chat
from tui.shell.chats_command import chats


@pytest.fixture
def other(home: Path) -> Iterator[Store]:
    """Another instance."""
    store = Store(place())
    yield store
    store.close()


def told(chat: Chat) -> bool:
    return any("open in another specchat" in text for text in chat.shown("Note"))


async def test_who_opens_it_second_is_told_and_what_both_say_is_kept(
    pair: Pair, other: Store
) -> None:
    conversation = other.begin()
    first = other.ask(conversation, None, "Hello from there")
    other.enter(conversation)
    other.remember("open", str(conversation))
    async with open_chat(*pair) as chat:
        await chat.ready()
        await chat.until(lambda: told(chat))
        other.ask(conversation, first.id, "theirs")
        await chat.ask("ours")
        assert {each.content for each in other.tree(conversation)} >= {"theirs", "ours"}
        await chat.pilot.press("ctrl+n")
        await chat.until(lambda: chat.screen.state.conversation is None)
        assert not told(chat)
        assert not other.is_open_elsewhere(conversation)


async def test_others_are_told_what_is_open_here(pair: Pair, other: Store) -> None:
    async with open_chat(*pair, asked=("Hello",)) as chat:
        assert not told(chat)
        assert other.is_open_elsewhere(chat.screen.state.conversation or 0)


async def test_an_answer_is_not_continued_in_two_places(pair: Pair, other: Store) -> None:
    async with open_chat(*pair, hold=(Decoded, 4), asking="Hello") as chat:
        await chat.pilot.press("escape")
        await chat.end()
        other.enter(chat.screen.state.conversation)
        answer = chat.screen.state.records[-1]
        chat.screen.controller.go_on(answer)
        await chat.pilot.pause()
        assert len(chat.engine.requests) == 1
        other.enter(None)
        chat.screen.controller.go_on(answer)
        await chat.until(lambda: len(chat.engine.requests) == 2)
        await chat.end()


def test_what_is_open_is_not_deleted_from_the_command_line(home: Path, other: Store) -> None:
    number = other.begin()
    other.ask(number, None, "Hello")
    other.enter(number)
    result = CliRunner().invoke(chats, ["delete", "--yes", str(number)])
    assert isinstance(result.exception, StorageError)
    assert "open in another specchat" in str(result.exception)
    assert len(other.summaries()) == 1
    other.enter(None)
    assert CliRunner().invoke(chats, ["delete", "--yes", str(number)]).exit_code == 0
    assert other.summaries() == ()
