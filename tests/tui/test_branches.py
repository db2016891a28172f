"""What can be done to a conversation's turns, by their keys."""

from pathlib import Path

import pytest

from assistant.events import Decoded, Finished, Prepared, Stop
from tests.tui.chat import Chat, open_chat
from tui.screens.inspector import Inspector


@pytest.fixture
def pair(target: Path, draft: Path) -> tuple[Path, Path]:
    return target, draft


async def act(chat: Chat, *keys: str) -> None:
    """Press keys on the newest turn, and wait until the engine is idle."""
    await chat.pilot.press("ctrl+up")
    await chat.pilot.pause()
    await chat.pilot.press(*keys)
    await chat.pilot.pause()
    await chat.until(lambda: not chat.screen.exchange.busy)


async def test_another_answer_stands_beside_the_first_and_the_keys_lead_to_both(pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.ask("Which way?")
        first = chat.said[-1]
        await act(chat, "r")
        second = chat.said[-1]
        assert len(chat.engine.requests) == 2
        assert second != first  # with a seed, too
        await act(chat, "left")
        assert chat.said == ["Which way?", first]
        await act(chat, "right")
        assert chat.said == ["Which way?", second]
        await chat.ask("On we go")
        assert [m.content for m in chat.engine.requests[-1].messages][:2] == ["Which way?", second]


async def test_ctrl_r_does_the_same_from_the_prompt(pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.ask("Which way?")
        first = chat.said[-1]
        await chat.pilot.press("ctrl+r")
        await chat.until(lambda: len(chat.engine.heard(Finished)) == 2)
        await chat.until(lambda: not chat.screen.exchange.busy)
        assert chat.said[0] == "Which way?"
        assert chat.said[1] != first


async def test_an_edited_question_begins_a_branch_and_the_old_one_stays(pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.ask("One")
        await chat.ask("Tow")
        old = chat.said
        await act(chat, "up", "e")
        assert chat.prompt.text == "Tow"
        await chat.ask("Two")
        assert chat.said[:3] == [*old[:2], "Two"]
        assert [m.content for m in chat.engine.requests[-1].messages] == [*old[:2], "Two"]
        await act(chat, "up", "left")
        assert chat.said == old


async def test_escape_leaves_the_question_that_is_edited_as_it_was(pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.ask("One")
        before = chat.said
        await act(chat, "up", "e")
        await chat.pilot.press("escape")
        assert (chat.prompt.text, chat.said) == ("", before)
        await chat.ask("Two")
        assert len(chat.said) == 4


async def test_a_stopped_answer_is_gone_on_with_and_nothing_is_read_again(pair) -> None:
    async with open_chat(pair[0], pair[1], hold=(Decoded, 4)) as chat:
        await chat.ready()
        await chat.send("Go on")
        await chat.held()
        await chat.pilot.press("escape")
        await chat.end()
        half = chat.said[-1]
        assert chat.engine.heard(Finished)[0].stop is Stop.CANCELLED
        await act(chat, "n")
        whole = chat.said[-1]
        assert whole.startswith(half)
        assert len(whole) > len(half)
        first, second = chat.engine.heard(Prepared)
        tokens = chat.engine.heard(Finished)[0].stats.generated_tokens
        assert second.prompt_tokens == first.prompt_tokens + tokens
        assert second.cached_tokens >= second.prompt_tokens - 1
        leaf = chat.screen.dialogue.leaf
        assert leaf is not None
        seen = chat.screen.conversation.turns[-1].text
        assert whole.startswith(seen)
        trace = chat.screen.dialogue.store.trace(leaf.id)
        assert "".join(step.text for step in trace) == seen


async def test_what_is_deleted_comes_back(pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.ask("One")
        await chat.ask("Two")
        before = chat.said
        await act(chat, "up", "d")
        assert chat.said == before[:2]
        await chat.pilot.press("u")
        assert chat.said == before


async def test_a_copy_of_the_conversation_goes_its_own_way(pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.ask("One")
        await chat.ask("Two")
        before, old = chat.said, chat.screen.dialogue.conversation
        await act(chat, "up", "up", "f")
        assert chat.said == before[:2]
        assert chat.screen.dialogue.conversation != old
        await chat.pilot.press("escape")
        await chat.ask("Three")
        store = chat.screen.dialogue.store
        assert [r.content for r in store.path(old or 0)] == before
        assert len(store.summaries()) == 2


async def test_the_inspector_opens_on_an_answer(pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.ask("Look closely")
        await act(chat, "i")
        assert isinstance(chat.app.screen, Inspector)
        await chat.pilot.press("escape")
        assert not isinstance(chat.app.screen, Inspector)


async def test_keys_wait_while_an_answer_is_under_way(pair) -> None:
    async with open_chat(pair[0], pair[1], hold=(Decoded, 4)) as chat:
        await chat.ready()
        await chat.send("Wait")
        await chat.held()
        before = chat.said
        await chat.pilot.press("ctrl+up", "up", "d")
        assert chat.said == before
        await chat.end()
        assert len(chat.said) == 2


async def test_a_question_that_was_deleted_while_it_was_edited_is_asked_at_the_end(pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.ask("One")
        await chat.ask("Tow")
        first = chat.said[:2]
        await act(chat, "up", "e")
        await act(chat, "up", "d")
        assert chat.said == first
        await chat.ask("Two")
        assert chat.said[:3] == [*first, "Two"]


async def test_a_change_that_cannot_be_kept_is_said_and_the_chat_goes_on(pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.ask("One")
        before = chat.said
        chat.screen.dialogue.store._database._sql.execute("PRAGMA query_only = 1")
        await act(chat, "d")
        assert chat.said == before
        assert any("cannot be written" in n.message for n in chat.app._notifications)


async def test_a_conversation_that_is_gone_is_said_and_the_one_on_the_screen_stays(pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.ask("One")
        before, here = chat.said, chat.screen.dialogue.conversation
        chat.screen.talk.open(4711)  # another instance has deleted it
        await chat.pilot.pause()
        assert (chat.said, chat.screen.dialogue.conversation) == (before, here)
        assert len(chat.app._notifications) == 1


async def test_keys_that_come_too_late_for_a_message_do_nothing(pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.ask("One")
        gone = chat.screen.conversation.turns[-1]
        chat.screen.talk.open(None)
        for verb in ("regenerate", "continue", "delete", "fork", "edit", "inspect"):
            chat.screen.verbs.do(gone, verb)
            await chat.pilot.pause()
        assert (chat.said, chat.prompt.text) == ([], "")
        assert chat.app.screen is chat.screen
