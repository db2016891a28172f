"""Snapshots of the chat at two sizes."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from textual.pilot import Pilot

from assistant.events import Event
from assistant.request import AnyJob, Request
from assistant.settings.settings import Settings
from tests.tui.race.race_recorded import PROMPT, Recorded, lane_events, ready
from tests.tui.rest import calm, until
from tui.app.app import SpecchatApp
from tui.chat.screen import ChatScreen

Snap = Callable[..., bool]
LOW, WIDE = (80, 24), (120, 40)
NOON = 1_900_000_000.0


class Playback(Recorded):
    """An engine that answers as one once did."""

    def events_of(self, job: AnyJob) -> Iterator[Event]:
        if isinstance(job, Request):
            yield from (lap.event for lap in lane_events(1))
        else:
            yield ready(True)


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch, target, draft) -> None:
    """Let every message have been said at the same time of the same day."""
    monkeypatch.setattr(time, "time", lambda: NOON)
    for module in ("assistant.session.active_branch", "tui.chat.conversation.turn"):
        monkeypatch.setattr(f"{module}.time", lambda: NOON)


def app(target, draft) -> SpecchatApp:
    settings = replace(Settings(), target=str(target), draft=str(draft), mode="sps")
    app = SpecchatApp(settings)
    app._engine = Playback()
    return app


async def opened(pilot: Pilot[None]) -> ChatScreen:
    """Wait until the chat is ready, and return it."""
    running = pilot.app
    assert isinstance(running, SpecchatApp)
    chat = running.chat
    await until(pilot, lambda: chat.controller.ready and chat.session.branch.store)
    chat.prompt.editor.cursor_blink = False
    await calm(pilot)
    return chat


async def answered(pilot: Pilot[None]) -> None:
    """Ask, and wait until the answer is painted."""
    chat = await opened(pilot)
    chat.prompt.editor.text = PROMPT
    await pilot.press("enter")
    await until(pilot, lambda: len(chat.session.branch.records) == 2 and chat.session.idle)
    await calm(pilot)


async def seen_as_tokens(pilot: Pilot[None]) -> None:
    """Show what the draft had right and wrong, as the first answer of all does."""
    await answered(pilot)
    await pilot.press("ctrl+g")
    await calm(pilot)


async def with_the_list(pilot: Pilot[None]) -> None:
    """Open the list of chats."""
    await answered(pilot)
    await pilot.press("f2")
    await until(pilot, lambda: "Today" in pilot.app.export_screenshot())
    await calm(pilot)


@pytest.mark.parametrize(
    ("size", "seen"), [(LOW, opened), (LOW, seen_as_tokens), (WIDE, with_the_list)]
)
def test_the_chat_looks_as_it_did(snap_compare: Snap, target, draft, size, seen) -> None:
    assert snap_compare(app(target, draft), terminal_size=size, run_before=seen)
