"""A conversation that is open in two instances at once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from assistant.events import Decoded
from assistant.store import Store, place
from models.errors import UsageError
from tests.stored import ask, end
from tests.tui.chat.chat_driver import Pair, open_chat
from tui.shell.chats_command import chats


@pytest.fixture
def other(home: Path) -> Iterator[Store]:
    """Another instance."""
    store = Store(place())
    yield store
    store.close()


async def test_what_both_say_is_kept(pair: Pair, other: Store) -> None:
    conversation = other.begin()
    first = ask(other, conversation, None, "Hello from there")
    other.remember("open", str(conversation))
    async with open_chat(*pair) as chat:
        await chat.ready()
        ask(other, conversation, first.id, "theirs")
        await chat.ask("ours")
        assert {each.content for each in other.tree(conversation)} >= {"theirs", "ours"}


async def test_an_answer_is_not_continued_in_two_places(pair: Pair, other: Store) -> None:
    async with open_chat(*pair, hold=(Decoded, 4), asking="Hello") as chat:
        await chat.pilot.press("escape")
        await chat.end()
        answer = chat.path.records[-1]
        other.answers.stream(answer.id, f"{answer.content} and on", ())
        with pytest.raises(UsageError, match="Another specchat has continued it"):
            chat.screen.talk.go_on(answer)
        other.answers.stream(answer.id, answer.content, ())
        end(other, answer.id, answer.content, (), (), None, None, "stopped")
        chat.screen.talk.go_on(answer)
        await chat.until(lambda: len(chat.engine.requests) == 2)
        await chat.end()


async def test_what_is_deleted_elsewhere_goes_on_here_and_is_said_not_to_be_saved(
    pair: Pair, home: Path
) -> None:
    async with open_chat(*pair, asked=("Hello",)) as chat:
        number = str(chat.path.conversation)
        assert CliRunner().invoke(chats, ["delete", "--yes", number]).exit_code == 0
        await chat.ask("Still there?")
        assert chat.said[0] == "Hello"
        assert len(chat.said) == 4
        assert "not saved" in "".join(chat.shown("#name"))
