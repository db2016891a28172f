"""Conversations of stored messages, for the widgets that show them."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Footer

from assistant.events import Origin, RejectedToken, Step, Token, Trace
from assistant.session.active_branch import ActiveBranch
from assistant.settings.settings import Settings
from assistant.store.values import StoredMessage
from tests.tui.driver import Driver
from tui.chat.conversation.answer import Answer
from tui.chat.conversation.conversation import Conversation
from tui.chat.conversation.turn import TurnAction, UserTurn
from tui.text.text_view import TextView
from tui.widgets.keyline import ORDER

DRAFT, RESIDUAL, TARGET = Origin.DRAFT, Origin.RESIDUAL, Origin.TARGET


def token(text: str, origin: Origin = DRAFT, source: str | None = "model") -> Token:
    return Token(0, text, origin, source, 0.5, 0.5)


def ghost(text: str) -> RejectedToken:
    return RejectedToken(0, text, "model", 0, 0.5, 0.1, 0.9)


def question(id: int, text: str = "Why?", siblings: tuple[int, ...] = ()) -> StoredMessage:
    family = siblings or (id,)
    return StoredMessage(id, None, "user", text, time.time(), "complete", siblings=family)


def answer(id: int, text: str = "Because.", **changes: object) -> StoredMessage:
    state = changes.pop("state", "complete")
    return StoredMessage(id, None, "assistant", text, time.time(), state, model="tiny", **changes)  # type: ignore[arg-type]


def talk(turns: int) -> list[StoredMessage]:
    """A conversation of so many turns."""
    return [
        question(id, f"question {id}") if id % 2 else answer(id, f"answer {id}\n\nin two lines")
        for id in range(1, turns + 1)
    ]


class Page(App[None]):
    """A conversation that notes what is wanted of its turns."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: list[tuple[str, str]] = []
        self.left = 0
        self.branch: Any = ActiveBranch(lambda _: None, None, Settings, writes=False)

    def compose(self) -> ComposeResult:
        view = Conversation()
        view.branch = self.branch
        yield view
        yield Footer()

    def on_turn_action(self, message: TurnAction) -> None:
        self.wanted.append((message.verb, message.turn.text))

    def on_conversation_left(self) -> None:
        self.left += 1


class Shown(Driver):
    """A page under test."""

    def __init__(self, pilot: Pilot[None]) -> None:
        super().__init__(pilot)
        assert isinstance(pilot.app, Page)
        self.app = pilot.app
        self.view = pilot.app.query_one(Conversation)

    @property
    def wanted(self) -> list[tuple[str, str]]:
        return self.app.wanted

    async def open(
        self, records: Sequence[StoredMessage], traces: dict[int, Trace] | None = None
    ) -> None:
        self.app.branch.trace = lambda id: (traces or {}).get(id, ())
        self.view.open(records)
        await self.settle()

    async def stream(self, *steps: Step) -> Answer:
        """Begin an answer that has these rounds."""
        self.view.add(answer(99, "", state="streaming"))
        streaming = self.view.turns[-1]
        assert isinstance(streaming, Answer)
        for step in steps:
            streaming.add(step)
        await self.settle()
        return streaming

    async def press(self, *keys: str) -> None:
        """Press keys, and wait until what they do is painted."""
        await self.pilot.press(*keys)
        await self.settle()

    async def end(self, answer: Answer, stop: str = "stop-token") -> None:
        """Let an answer be complete."""
        answer.end(replace(answer.record, content=answer.text, state="complete", stop=stop))
        await self.settle()

    async def settle(self) -> None:
        """Wait until workers are done and everything is painted."""
        for _ in range(3):
            busy = [worker for worker in self.app.workers if worker.node is not self.app]
            await self.app.workers.wait_for_complete(busy)
            await self.until(self.painted)

    def painted(self) -> bool:
        """Whether no token waits for its turn to be painted."""
        views = [view for view in self.app.query(TextView) if view.display]
        return not any(view._waiting or view._timer for view in views)

    def keys(self) -> dict[str, str]:
        """What the footer offers, by key, to the focused turn."""
        active = self.app.screen.active_bindings.values()
        return {
            shown.binding.key: shown.binding.description
            for shown in active
            if shown.enabled and shown.binding.id in OFFERED and shown.node is self.app.focused
        }


OFFERED = {*ORDER["Turn"], *ORDER["ApprovalTurn"]}


@asynccontextmanager
async def open_page(
    *records: StoredMessage, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Shown]:
    """Show a conversation, and wait until it is painted."""
    app = Page()
    async with app.run_test(size=size) as pilot:
        shown = Shown(pilot)
        if records:
            await shown.open(records)
        yield shown


def characters(view: TextView | Answer) -> list[tuple[str, str]]:
    """Every character of an answer as it is shown, with the style that is on top."""
    found: list[tuple[str, str]] = []
    text = view.tokens if isinstance(view, Answer) else view
    for line in map(text.coloured, text.lines):
        styles = [""] * len(line.plain)
        for span in line.spans:
            styles[span.start : span.end] = [str(span.style)] * (span.end - span.start)
        found += [*zip(line.plain, styles, strict=True), ("\n", "")]
    return found[:-1]


def text_of(view: Answer) -> str:
    """The text of an answer as it is shown."""
    return "".join(character for character, _ in characters(view))


def user_turns(shown: Shown) -> list[str]:
    return [turn.text for turn in shown.view.turns if isinstance(turn, UserTurn)]
