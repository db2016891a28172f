"""The list of conversations, by its keys, on a real store."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual import on
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from assistant.store import ChatSummary, Store
from models.errors import StorageError
from tests.patience import WAIT_S
from tui.chat.list import chat_list
from tui.chat.list.chat_list import PAGE, ChatList
from tui.chat.list.row_text import group, when
from tui.chat.list.store_changes import Deleted

TITLES = ("Lighthouse", "Lentil soup", "Sorted lists", "Lisbon")


class Host(App[None]):
    """An app that hears what the list says."""

    def __init__(self, store: Store, folder: Path | None = None) -> None:
        super().__init__()
        self.chats = ChatList(store, folder)
        self.heard: list[Any] = []
        self.found: int | None = None

    def compose(self) -> ComposeResult:
        yield self.chats
        yield Static("A conversation")

    def on_mount(self) -> None:
        self.chats.toggle()

    def on_chat_list_chosen(self, message: ChatList.Chosen) -> None:
        self.heard.append(("chosen", message.id))
        self.found = message.message

    def on_chat_list_left(self) -> None:
        self.heard.append("left")

    @on(Deleted)
    def hear_deleted(self, message: Deleted) -> None:
        self.heard.append(("deleted", message.id))


def told(host: Host) -> list[str]:
    return [notification.message for notification in host._notifications]


def shown(host: Host) -> list[str]:
    shelf = host.chats.shelf
    return [shelf.line(y).plain.strip() for y in range(shelf.virtual_size.height)]


def titles(host: Host) -> list[str]:
    return [summary.title for summary in host.chats.shelf.summaries]


@asynccontextmanager
async def listed(
    store: Store, folder: Path | None = None
) -> AsyncIterator[tuple[Host, Pilot[None]]]:
    """Open the list of a store's conversations, and wait until it has been read."""
    host = Host(store, folder)
    async with host.run_test() as pilot:
        await settle(pilot)
        yield host, pilot


async def settle(pilot: Pilot[None]) -> None:
    for _ in range(3):
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()


async def press(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


@pytest.fixture
def store() -> Store:
    """A store in memory that holds four conversations, the last one the newest."""
    store = Store(None)
    for title in TITLES:
        conversation = store.begin(title)
        question = store.ask(conversation, None, f"Tell me about {title}.")
        answer = store.answers.begin(conversation, question.id, "tiny")
        text = f"All about {title}, with a word that is rare in {title}: zebra{title[0]}"
        store.answers.end(answer.id, text, (), (), None, "stop-token", "complete")
    return store


async def test_enter_opens_the_conversation_under_the_cursor(store: Store) -> None:
    async with listed(store) as (host, pilot):
        assert titles(host) == list(reversed(TITLES))
        assert shown(host)[0] == "Today"
        await press(pilot, "down", "down", "enter")
        assert host.heard == [("chosen", store.summaries()[2].id)]


async def test_click_opens_the_conversation_under_the_mouse(store: Store) -> None:
    async with listed(store) as (host, pilot):
        await pilot.click("#shelf", offset=(4, 2))
        assert host.heard == [("chosen", store.summaries()[1].id)]


async def test_search_finds_what_was_said_and_shows_where(store: Store) -> None:
    async with listed(store) as (host, pilot):
        await press(pilot, "slash", *"zebras", "enter")
        assert titles(host) == ["Sorted lists"]
        assert "zebraS" in shown(host)[2]
        chosen = host.chats.shelf.summaries[0].id
        assert host.heard == [("chosen", chosen)]
        assert host.found == store.path(chosen)[-1].id


async def test_escape_ends_the_search_and_then_leaves_the_list(store: Store) -> None:
    async with listed(store) as (host, pilot):
        await press(pilot, "slash", *"nothing like that")
        assert titles(host) == []
        assert "Nothing found" in str(host.chats.hint.render())
        await press(pilot, "escape")
        assert len(titles(host)) == 4
        assert host.heard == []
        await press(pilot, "escape")
        assert host.heard == ["left"]


async def test_letters_typed_into_the_search_change_no_conversation(store: Store) -> None:
    async with listed(store) as (host, pilot):
        await press(pilot, "slash", *"drpxu")
        assert host.chats.search.value == "drpxu"
        assert len(store.summaries()) == 4


async def test_rename_is_typed_in_place_and_escape_keeps_the_title(store: Store) -> None:
    async with listed(store) as (host, pilot):
        await press(pilot, "r", "end", *" again", "enter")
        assert titles(host)[0] == store.summaries()[0].title == "Lisbon again"
        await press(pilot, "r", *"Another", "escape")
        assert store.summaries()[0].title == "Lisbon again"
        assert host.focused is host.chats.shelf


async def test_pinned_conversation_stands_first_and_keeps_the_cursor(store: Store) -> None:
    async with listed(store) as (host, pilot):
        await press(pilot, "down", "down", "p")
        assert titles(host)[0] == "Lentil soup"
        assert shown(host)[0] == "Pinned"
        assert host.chats.shelf.cursor == 0
        await press(pilot, "p")
        assert titles(host) == list(reversed(TITLES))
        assert host.chats.shelf.cursor == 2


async def test_deleted_conversations_come_back_in_reverse(store: Store) -> None:
    async with listed(store) as (host, pilot):
        await press(pilot, "d", "d")
        assert titles(host) == ["Lentil soup", "Lighthouse"]
        assert told(host) == ["Deleted. u brings it back."] * 2
        assert [what for what, _ in host.heard] == ["deleted", "deleted"]
        await press(pilot, "down", "u")
        assert titles(host) == ["Sorted lists", "Lentil soup", "Lighthouse"]
        assert host.chats.shelf.cursor == 0  # on what is back
        await press(pilot, "u", "u")
        assert titles(host) == list(reversed(TITLES))


async def test_export_writes_markdown_and_overwrites_nothing(store: Store, tmp_path: Path) -> None:
    async with listed(store, tmp_path) as (host, pilot):
        for _ in range(2):
            await press(pilot, "x", "enter")
        first, second = sorted(tmp_path.iterdir())
        assert "Tell me about Lisbon." in first.read_text()
        assert first.read_text() == second.read_text()
        await press(pilot, "x", *"/no/such/folder", "enter")
        assert "/no/such/folder" in told(host)[-1]
        assert len(list(tmp_path.iterdir())) == 2


async def test_store_that_fails_is_said_and_the_list_lives_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StorageError("The disk is full. Free some space.")

    async with listed(store) as (host, pilot):
        monkeypatch.setattr(store, "pin", fail)
        await press(pilot, "p")
        assert told(host) == ["The disk is full. Free some space."]
        assert len(titles(host)) == 4


async def test_thousands_are_read_as_they_are_scrolled_to() -> None:
    store = Store(None)
    for number in range(2 * PAGE + 50):
        store.begin(f"Conversation {number}")
    async with listed(store) as (host, pilot):
        assert len(titles(host)) == PAGE
        await press(pilot, "end")
        assert len(titles(host)) == 2 * PAGE
        await press(pilot, "end")
        await press(pilot, "end")
        assert titles(host)[-1] == "Conversation 0"
        assert host.chats.shelf.chosen == store.summaries(limit=1000)[-1]


async def test_current_conversation_is_marked_without_colour(store: Store) -> None:
    async with listed(store) as (host, pilot):
        host.chats.current = store.summaries()[1].id
        await pilot.pause()
        assert [line.startswith("▌") for line in shown(host)] == [False, False, True, False, False]


async def test_title_cannot_command_the_terminal() -> None:
    store = Store(None)
    store.begin("[red]\x1b[31mred")
    async with listed(store) as (host, _):
        assert shown(host)[1].startswith("[red]␛[31mred")


@pytest.mark.parametrize(
    ("updated", "heading", "time"),
    [
        ("2026-11-20 09:05", "Today", "09:05"),
        ("2026-11-21 00:30", "Today", "00:30"),  # a clock that was set back
        ("2026-11-19 23:59", "Yesterday", "23:59"),
        ("2026-11-16 12:00", "This week", "16 Nov"),  # a Monday
        ("2026-11-15 12:00", "This month", "15 Nov"),
        ("2026-10-31 12:00", "October 2026", "31 Oct"),
        ("2025-11-20 12:00", "November 2025", "20 Nov"),
    ],
)
def test_conversations_are_grouped_by_date(updated: str, heading: str, time: str) -> None:
    moment = datetime.fromisoformat(updated).timestamp()
    summary = ChatSummary(1, "", moment, moment, pinned=False, messages=0)
    today = datetime(2026, 11, 20).date()
    assert (group(summary, today), when(summary, today)) == (heading, time)


async def test_list_that_is_read_again_while_something_is_to_be_opened_ends_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with listed(store) as (host, pilot):
        await press(pilot, "slash", *"zebra")
        reading, go_on, read = Event(), Event(), chat_list._read

        def slowly(*asked: Any) -> Any:
            reading.set()
            go_on.wait(60)
            return read(*asked)

        monkeypatch.setattr(chat_list, "_read", slowly)
        await pilot.press("enter")
        await asyncio.to_thread(reading.wait, 60)
        host.chats.refresh_list()  # as at the end of an answer
        go_on.set()
        async with asyncio.timeout(WAIT_S):
            while list(host.workers):
                await pilot.pause(0.01)
        assert len(titles(host)) == 4
        await press(pilot, "enter")
        assert host.heard == [("chosen", store.summaries("zebra")[0].id)]
