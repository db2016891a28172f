"""A session that goes on all day: each turn costs what the first ones did."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from assistant.events import Decoded, Event, Finished, Origin, Prepared, Stats, Stop, Token
from assistant.request import AnyJob, Request
from tests.patience import ALL
from tests.tui.race.race_recorded import Recorded, ready
from tui.app.app import SpecchatApp
from tui.chat.conversation.answer import Answer
from tui.chat.conversation.older_turns import MAX_SHOWN, PAGE
from tui.chat.conversation.user_turn import UserTurn
from tui.settings.settings import Settings

TURNS = 100 if ALL else 22
ANSWER = "Answer {}, with code:\n\n```python\nreturn {}\n```\n"


class Scripted(Recorded):
    """An engine that has its answers ready."""

    def said(self, job: AnyJob) -> Iterator[Event]:
        if not isinstance(job, Request):
            yield ready(True)
            return
        number = sum(message.role == "user" for message in job.messages)
        text = ANSWER.format(number, number)
        stats = Stats("ars", rounds=1, generated_tokens=1, decode_s=0.01)
        token = Token(number, text, Origin.TARGET, None, 1.0, None)
        yield Prepared(20, 0, 0)
        yield Decoded((token,), (), 0, 20, stats)
        yield Finished(text, (number,), Stop.STOP_TOKEN, stats)


class Session:
    """The chat of one day."""

    def __init__(self, pilot: Pilot[None]) -> None:
        assert isinstance(pilot.app, SpecchatApp)
        self.pilot, self.app = pilot, pilot.app
        self.view, self.chat = pilot.app.chat.conversation, pilot.app.chat

    async def talk(self, turns: int) -> None:
        while not (self.chat.controller.ready and self.chat.autosave.begun):
            await self.pilot.pause(0.01)
        for number in range(1, turns + 1):
            self.chat.controller.say(f"question {number}", ())
            while self.chat.controller.busy or self.chat.talk.waits:
                await asyncio.sleep(0.001)
            assert len(self.view.turns) <= MAX_SHOWN + 2

    async def settle(self) -> None:
        for _ in range(3):
            await self.pilot.pause(0.05)

    @property
    def questions(self) -> list[str]:
        return [turn.text for turn in self.view.turns if isinstance(turn, UserTurn)]


@pytest.mark.thorough
async def test_a_day_of_turns_keeps_few_on_the_screen_and_all_within_reach(target: Path) -> None:
    app = SpecchatApp(
        Settings(str(target), str(target), mode="ars", view="tokens"), engine=Scripted
    )
    async with app.run_test(size=(80, 24)) as pilot:
        session = Session(pilot)
        await session.talk(TURNS)
        await session.settle()
        assert session.questions[-1] == f"question {TURNS}"
        assert len(session.view.turns) <= MAX_SHOWN
        assert len(session.chat.talk.path.records) == 2 * TURNS

        first = session.view.turns[0]
        session.view.focus_last()
        for _ in range(MAX_SHOWN + PAGE):  # by keys past where the screen began
            await pilot.press("k")
        await session.settle()
        assert session.view.turns.index(first) >= PAGE

        session.view.walk_to(session.chat.talk.path.records[1].id)  # the first answer
        for _ in range(2 * TURNS // PAGE + 1):
            await session.settle()
        turn = app.focused
        assert isinstance(turn, Answer)
        assert turn.text == ANSWER.format(1, 1)
        assert session.questions == [f"question {n}" for n in range(1, TURNS + 1)]
        await turn.fetch_steps()
        assert [token.id for step in turn.steps for token in step.tokens] == [1]

        await pilot.press("r")  # another answer to the first question: a branch of its own
        while session.chat.controller.busy or len(session.chat.talk.path.records) != 2:
            await pilot.pause(0.01)
        await session.settle()
        assert session.questions == ["question 1"]
        assert len(session.chat.talk.path.records[-1].siblings) == 2
