"""The engine prefills what will be asked while the user reads and types."""

from dataclasses import replace
from typing import Any

import pytest

from assistant.events import Decoded, Failed, PrefillDone, Prefilled, Prepared
from assistant.request import Prefill, Switch
from assistant.store.values import Attachment
from models import machine
from tests.tui.chat.chat_driver import Chat, Pair, open_chat
from tui.chat.conversation.welcome import SUGGESTIONS
from tui.chat.status import Status

FILE = Attachment("sky.txt", "Light of short waves is scattered more. " * 4)


def prefilled(chat: Chat) -> list[str]:
    """Return the questions that were to be read ahead."""
    jobs = (job for job in chat.engine.jobs if isinstance(job, Prefill))
    return [job.request.messages[-1].content for job in jobs]


async def read(chat: Chat, count: int) -> None:
    """Wait until so many readings have ended, and nothing is read any more."""
    await chat.until(lambda: len(chat.engine.received(PrefillDone)) >= count)


async def test_a_file_is_read_when_it_is_attached_and_the_question_while_it_is_typed(pair: Pair):
    async with open_chat(*pair, idle="on") as chat:
        chat.prompt.attached.add(FILE)
        await chat.until(lambda: any(FILE.text in text for text in prefilled(chat)))
        await chat.until(lambda: chat.engine.received(Prefilled))
        chat.prompt.editor.text = "Why is it"
        await chat.until(lambda: prefilled(chat)[-1].endswith("Why is it"))
        await read(chat, 1)
        await chat.until(lambda: chat.screen.status.state.activity is None)
        await chat.ask("Why is it blue?")
        (prepared,) = chat.engine.received(Prepared)
        assert prepared.cached_tokens > len(FILE.text) // 2


async def test_the_first_suggestion_is_prefilled_once_until_something_is_typed(pair: Pair):
    async with open_chat(*pair, idle="on") as chat:
        await read(chat, 1)
        await chat.screen.controller._start_prefill()
        assert prefilled(chat) == [SUGGESTIONS[0].text]
        chat.prompt.editor.text = "Why?"
        await chat.until(lambda: prefilled(chat)[-1] == "Why?")


async def test_a_prompt_that_would_be_refused_says_so_before_enter_with_the_same_limit(pair: Pair):
    async with open_chat(*pair, n_ctx=1024, max_tokens=200, idle="on") as chat:
        too_long = chat.prompt.query_one("#too-long")
        assert chat.prompt.attached.limits.tokens == 824  # by which an estimate is too long
        chat.prompt.editor.text = "x " * 600  # by the engine's count, once it reads ahead
        await chat.until(lambda: too_long.display)
        refusal = str(too_long.render())
        assert "and there is room for 824. Shorten it." in refusal
        assert "raise ctx" not in refusal  # the model has no more
        chat.prompt.editor.text = "x"
        await chat.until(lambda: not too_long.display)
        chat.screen.controller.apply(replace(chat.screen.controller.settings, max_tokens=None))
        assert chat.prompt.attached.limits.tokens == 1024 - 200


async def test_a_larger_context_is_proposed_where_the_model_has_one(pair: Pair):
    async with open_chat(*pair, n_ctx=512, idle="on") as chat:
        chat.prompt.editor.text = "x " * 600
        await chat.until(lambda: chat.engine.received(Failed))
        assert "Shorten it. Or raise ctx (F6" in chat.engine.received(Failed)[0].message


@pytest.mark.parametrize(
    ("idle", "battery", "reads"),
    [("off", False, 0), ("auto", True, 0), ("auto", False, 1), ("on", True, 1)],
)
async def test_a_battery_stops_prefill_unless_wanted(pair, monkeypatch, idle, battery, reads):
    monkeypatch.setattr(machine, "is_on_battery", lambda: battery)
    async with open_chat(*pair, idle=idle) as chat:
        await chat.screen.controller._start_prefill()
        assert len(prefilled(chat)) == reads


@pytest.mark.parametrize("idle", ["off", "on"])
async def test_the_status_says_what_a_question_waits_for(pair: Pair, idle: Switch, monkeypatch):
    async with open_chat(*pair, idle=idle, hold=(Decoded, 2)) as chat:
        await chat.ready()
        seen, show, submit = list[str](), Status.show, chat.screen.session.submit

        def noted(line: Status, **changes: Any) -> None:
            show(line, **changes)
            seen.append(shown(chat))

        def submitted(*question: Any) -> Any:
            seen.clear()
            return submit(*question)

        monkeypatch.setattr(Status, "show", noted)
        monkeypatch.setattr(chat.screen.session, "submit", submitted)
        if idle == "on":
            chat.prompt.attached.add(FILE)
            await chat.until(lambda: chat.engine.received(Prefilled))
        await chat.send("Why is it blue?")
        await chat.until(lambda: chat.engine.received(Decoded) and "" in seen)
        before_it_began = seen[: seen.index("")]
        assert before_it_began[0] == "waiting for the model"
        assert any(text.startswith("reading the prompt: ") for text in before_it_began)
        await chat.end()
        assert chat.screen.status.state.activity is None


def shown(chat: Chat) -> str:
    activity = chat.screen.status.state.activity
    return activity.text if activity else ""
