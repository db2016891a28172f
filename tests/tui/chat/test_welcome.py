"""The first screen of an empty conversation, and the explanation of the first colours."""

from dataclasses import replace

import pytest
from textual import events

from assistant.tools.values import ServerSettings, ToolSettings
from tests.tui.chat.chat_driver import Chat, Pair, open_chat
from tui.chat.chat_controller import SUGGESTED
from tui.chat.conversation.welcome import (
    MISSPELT,
    NOVICE,
    SUGGESTIONS,
    WHAT,
    WITH_TOOLS,
    SuggestionLine,
    Welcome,
)
from tui.race.screen import RaceScreen

CODE, EDIT, RACE = SUGGESTIONS
SIZES = [(80, 24), (120, 40), (200, 60), (80, 16), (60, 20), (40, 12)]


def offers(chat: Chat) -> list[SuggestionLine]:
    return list(chat.screen.query(SuggestionLine))


def chosen(chat: Chat) -> list[int]:
    return [number for number, offer in enumerate(offers(chat)) if offer.chosen]


async def test_enter_in_an_empty_prompt_takes_what_is_suggested(pair: Pair) -> None:
    servers = ToolSettings(servers=(ServerSettings("elsewhere", command="true"),))
    async with open_chat(*pair, tools=servers) as chat:
        assert chat.shown("Welcome > .what") == [WITH_TOOLS]  # nothing is promised of them
        await chat.press("down", "enter")
        assert chat.prompt.text == MISSPELT == EDIT.text  # waits to be sent
        assert chat.texts == []
        chat.prompt.drop()
        await chat.press("up", "enter")
        await chat.until(lambda: len(chat.texts) == 2 and chat.screen.session.idle)
        assert chat.texts[0] == CODE.text
        assert chat.prompt.text == ""
        assert not chat.screen.query(Welcome)


async def test_a_race_is_run_with_its_prompt(pair: Pair) -> None:
    async with open_chat(*pair, size=(120, 40)) as chat:
        await chat.press("up", "enter")
        await chat.until(lambda: isinstance(chat.app.screen, RaceScreen))
        assert chat.prompt.text == RACE.text
        assert chat.texts == []


async def test_a_click_takes_a_suggestion_and_never_what_was_typed(pair: Pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.press("a", "b")
        await chat.pilot.click(offers(chat)[1])
        assert (chat.prompt.text, chat.texts) == ("ab", [])
        assert "Send or delete" in chat.notices[-1]
        await chat.press("backspace", "backspace")
        await chat.pilot.click(offers(chat)[1])
        await chat.until(lambda: chat.prompt.text == MISSPELT)


async def test_keys_mean_to_a_prompt_that_is_not_empty_what_they_always_do(pair: Pair) -> None:
    async with open_chat(*pair) as chat:
        await chat.press("a", "down", "up", "down")
        assert chosen(chat) == [0]
        assert {offer.styles.text_opacity for offer in offers(chat)} == {0.4}
        await chat.press("enter")
        await chat.until(lambda: chat.texts[:1] == ["a"])
        await chat.end()
        await chat.press("ctrl+n")
        await chat.until(lambda: offers(chat))
        await chat.press("up")
        assert (chat.prompt.text, chosen(chat)) == ("a", [0])  # recalled


async def test_after_some_questions_no_suggestion_is_offered(pair: Pair) -> None:
    async with open_chat(*pair, asked=["?"] * (NOVICE - 1)) as chat:
        await chat.press("ctrl+n")
        await chat.until(lambda: len(offers(chat)) == len(SUGGESTIONS))
        await chat.ask("!")
        await chat.press("ctrl+n")
        await chat.until(lambda: WHAT in "".join(chat.shown("Welcome > Static")))
        assert offers(chat) == []
        await chat.press("down", "enter")
        assert (chat.prompt.text, chat.texts) == ("", [])


async def test_the_welcome_is_fully_visible_at_every_size(pair: Pair) -> None:
    async with open_chat(*pair, size=SIZES[0]) as chat:
        view = chat.screen.conversation
        parts = chat.screen.query_one(Welcome).children
        for size in SIZES:
            await chat.pilot.resize_terminal(*size)
            assert chat.screen.size == size
            await chat.until(lambda: parts[0].display == (chat.screen.size.height > 12))
            shown = [part for part in parts if part.display]
            assert len(shown) >= len(parts) - 1
            assert all(view.content_region.contains_region(part.region) for part in shown)
            assert view.max_scroll_y == 0
            for part in offers(chat):
                assert all(len(line) <= part.size.width for line in str(part.render()).split("\n"))


async def test_a_larger_model_is_suggested_once(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    suggestion = "There is a larger one."
    monkeypatch.setattr("tui.chat.chat_controller.suggest_larger", lambda *_: suggestion)
    async with open_chat(*pair, novice=True, save=False) as chat:
        assert not chat.screen.controller.may_suggest  # as it could not be remembered
    async with open_chat(*pair, novice=True, offline=True) as chat:
        await chat.ask("Offline")
        assert chat.screen.controller.may_suggest
        chat.screen.controller.apply(replace(chat.app.settings, offline=False))
        for _ in range(2):
            await chat.ask("Online")
            await chat.until(lambda: chat.shown("Note").count(suggestion) == 1)
        await chat.until(lambda: chat.store.recall(SUGGESTED))
    async with open_chat(*pair, novice=True) as chat:
        assert not chat.screen.controller.may_suggest


async def test_the_gain_of_guessing_is_shown_in_one_place(pair: Pair) -> None:
    async with open_chat(*pair, size=(140, 40), asked=("One",)) as chat:
        panel, status = chat.screen.panel, chat.screen.status
        assert "guesses right" in str(status.render())
        await chat.press("f3")
        words = "\n".join(line.plain for line in panel._lines)
        assert "guesses right" in words
        assert "guesses right" not in str(status.render())


async def test_keys_from_before_the_start_are_replayed(pair: Pair) -> None:
    async with open_chat(*pair) as chat:
        chat.app._buffered = [events.Key(*key) for key in ("hh", "ii", ("ctrl+j", "\n"))]
        await chat.app._release_first_keys()
        await chat.until(lambda: chat.texts[:1] == ["hi"])
