"""The driver of a chat with tiny models."""

import stat
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any, cast

import pytest
from textual.pilot import Pilot
from textual.widgets._footer import FooterKey

from assistant.events import Event, Failed, Finished
from assistant.request import Sampling
from assistant.session.active_branch import ActiveBranch
from assistant.settings.settings import Settings
from assistant.store.store import Store
from assistant.tools.server import Server
from assistant.tools.toolbox import ToolSet
from assistant.tools.values import ToolSettings
from tests.engine import ENGINE
from tests.patience import WAIT_S
from tests.scripted_engine import Script, ScriptedEngine
from tests.tui.driver import Driver
from tui.app.app import SpecchatApp
from tui.chat.conversation.turn import Turn

Pair = tuple[Path, Path]
HOT = Sampling(temperature=14, top_k=0, top_p=1)  # or a tiny model says one byte forever
TINY = Settings(
    n_ctx=512,
    mode="sps",
    lookahead=3,
    max_tokens=24,
    seed=1,
    threads=1,
    temperature=HOT.temperature,
    top_k=HOT.top_k,
    top_p=HOT.top_p,
    engine=ENGINE,
    idle="off",
)


class Watched(ScriptedEngine):
    """An engine that keeps what comes out.

    It can be held before the nth event of a kind, so that a key is pressed at just that moment.
    """

    def __init__(
        self, hold: tuple[type[Event], int] | None = None, script: Script | None = None
    ) -> None:
        self.events: list[Event] = []
        self.go_on = threading.Event()
        self._hold = hold
        super().__init__(script)

    def replace_event(self, event: Any, last: bool) -> Any:
        event = super().replace_event(event, last)
        kind, number = self._hold or (Failed, 0)
        if isinstance(event, kind) and len(self.received(kind)) + 1 == number:
            self.held = True
            self.go_on.wait(WAIT_S)
        self.events.append(event)
        return event

    held = False

    async def close(self) -> None:
        self.go_on.set()
        await super().close()

    def received(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


class Chat(Driver):
    """An app under test, and its engine."""

    novice = False

    def __init__(self, pilot: Pilot[None]) -> None:
        super().__init__(pilot)
        self.app = cast(SpecchatApp, pilot.app)
        self.screen = self.app.chat
        self.prompt = self.screen.prompt

    @property
    def engine(self) -> Watched:
        return cast(Watched, self.app._engine)

    async def ready(self) -> None:
        await self.until(lambda: self.screen.controller.ready and self.path.store)
        self.screen.controller.may_suggest &= self.novice

    async def held(self) -> None:
        await self.until(lambda: self.engine and self.engine.held and self.path.store)

    async def end(self) -> None:
        """Let a held engine go on, and wait until it is idle."""
        self.engine.go_on.set()
        await self.until(lambda: self.screen.controller.ready and self.screen.session.idle)

    def use(self, server: Server, **how: Any) -> None:
        """Have tools in memory instead of those of the settings."""
        self.screen.session.tool_loop.tools = tools = ToolSet(ToolSettings((Path("/"),)), **how)
        tools.servers = {"disk": server}

    async def send(self, text: str) -> None:
        self.prompt.focus()
        self.prompt.editor.text = text
        await self.pilot.press("enter")

    async def ask(self, text: str) -> None:
        """Send a prompt and wait for the end of its answer."""
        await self.ready()
        ended = len(self.engine.received(Finished)) + len(self.engine.received(Failed))
        await self.send(text)
        await self.until(
            lambda: len(self.engine.received(Finished)) + len(self.engine.received(Failed)) > ended
        )
        await self.until(lambda: self.screen.session.idle)

    @property
    def store(self) -> Store:
        """Where conversations are kept."""
        assert self.screen.session.branch.store is not None
        return self.screen.session.branch.store

    @property
    def path(self) -> ActiveBranch:
        """The messages on the screen."""
        return self.screen.session.branch

    @property
    def texts(self) -> list[str]:
        """The texts of the messages on the screen."""
        return [record.content for record in self.path.records]

    @property
    def focused(self) -> Turn:
        """The turn that has the focus."""
        turn = self.screen.focused
        assert isinstance(turn, Turn)
        return turn

    @property
    def footer(self) -> dict[str, str]:
        """What the footer offers, by key."""
        return {key.key_display: key.description for key in self.screen.query(FooterKey)}

    async def act(self, *keys: str) -> None:
        """Press keys on the newest turn, and wait until the engine is idle."""
        self.prompt.focus()
        await self.press("ctrl+up")
        await self.press(*keys)
        await self.until(lambda: self.screen.session.idle)

    def shown(self, selector: str) -> list[str]:
        """What the widgets that match say."""
        return [str(widget.render()) for widget in self.screen.query(selector)]


def use_editor(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Make a shell script the user's editor, to which the terminal is lent, that tests lack."""
    script = folder / "editor"
    script.write_text(f"#!/bin/sh\n{code}\n")
    script.chmod(stat.S_IRWXU)
    monkeypatch.setattr(SpecchatApp, "suspend", lambda _: nullcontext())
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(script))


@asynccontextmanager
async def open_chat(
    target: Path | None,
    draft: Path | None = None,
    size: tuple[int, int] = (80, 24),
    hold: tuple[type[Event], int] | None = None,
    *,
    asked: Sequence[str] = (),
    asking: str = "",
    novice: bool = False,
    notifications: bool = False,
    says: str | None = None,
    token: dict[str, Any] | None = None,
    **changes: Any,
) -> AsyncIterator[Chat]:
    """Open a chat, in which some questions have been answered, and one is held while it is.

    It is ready, unless it is held. Every answer `says` the same, in a token with such fields. A
    larger model may be suggested to a `novice` alone.
    """
    script = Script(() if says is None else repeat(says), token=token or {})
    names: dict[str, Any] = {"target": target and str(target), "draft": draft and str(draft)}
    app = SpecchatApp(replace(TINY, **names, **changes))
    app._engine = Watched(hold, script)
    async with app.run_test(size=size, notifications=notifications) as pilot:
        chat = Chat(pilot)
        chat.novice = novice
        for question in asked:
            await chat.ask(question)
        if target and target.is_file() and (asking or not hold):
            await chat.ready()
        if asking:
            await chat.send(asking)
            await chat.held()
        yield chat
