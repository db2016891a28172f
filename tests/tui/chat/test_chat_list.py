"""The list of conversations, by its keys, on a real store."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import Mock

import pytest
from textual import on
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from assistant.store.store import Store
from assistant.store.values import ChatSummary
from models.errors import StorageError
from tests.patience import WAIT_S
from tests.stored import ask, begin, end
from tests.tui.driver import Driver
from tui.app.program import Program
from tui.chat.chat_list import ChatList
from tui.chat.chat_rows import ChatRows, Listing, group, listing, snippet, when

TITLES = ("Lighthouse", "Lentil soup", "Sorted lists", "Lisbon")


class Host(Program):
    """An app that hears what the list says."""

    def __init__(self, store: Store, folder: Path | None = None) -> None:
        super().__init__()
        self.chats = ChatList(store, folder)
        self.received: list[Any] = []
        self.found: int | None = None

    def compose(self) -> ComposeResult:
        yield self.chats
        yield Static("A conversation")

    def on_mount(self) -> None:
        super().on_mount()
        self.chats.toggle()

    def on_chat_rows_chosen(self, message: ChatRows.Chosen) -> None:
        self.received.append(("chosen", message.id))
        self.found = message.message

    def on_chat_list_left(self) -> None:
        self.received.append("left")

    @on(ChatList.Deleted)
    def hear_deleted(self, message: ChatList.Deleted) -> None:
        self.received.append(("deleted", message.id))


class Listed(Driver):
    """The list under test."""

    def __init__(self, pilot: Pilot[None], host: Host) -> None:
        super().__init__(pilot)
        self.host, self.chats, self.rows = host, host.chats, host.chats.rows

    async def press(self, *keys: str) -> None:
        """Press keys, and wait until the list has been read again."""
        await self.pilot.press(*keys)
        for _ in range(3):
            await self.host.workers.wait_for_complete()
            await self.pilot.pause()

    @property
    def shown(self) -> list[str]:
        return [self.rows.line(y).plain.strip() for y in range(self.rows.virtual_size.height)]

    @property
    def titles(self) -> list[str]:
        return [summary.title for summary in self.rows.listing.summaries]


@asynccontextmanager
async def listed(store: Store, folder: Path | None = None) -> AsyncIterator[Listed]:
    """Open the list of a store's conversations, and wait until it has been read."""
    host = Host(store, folder)
    async with host.run_test() as pilot:
        chats = Listed(pilot, host)
        await chats.press()
        yield chats


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store in memory that holds four conversations of one day, the last one the newest."""
    monkeypatch.setattr(time, "time", partial(next, count(1_900_000_000.0)))
    store = Store(None)
    for title in TITLES:
        conversation = store.create(title)
        question = ask(store, conversation, None, f"Tell me about {title}.")
        answer = begin(store, conversation, question.id, "tiny")
        text = f"All about {title}, with a word that is rare in {title}: zebra{title[0]}"
        end(store, answer.id, text, stop="stop-token")
    return store


async def test_enter_opens_the_conversation_under_the_cursor(store: Store) -> None:
    async with listed(store) as page:
        assert page.titles == list(reversed(TITLES))
        assert page.shown[0] == "Today"
        await page.press("down", "down", "enter")
        await page.pilot.click("#shelf", offset=(4, 2))
        one, two, three, _ = store.summaries()
        assert page.host.received == [("chosen", three.id), ("chosen", two.id)]
        await page.pilot.resize_terminal(80, 4)  # a single row
        await page.press("end", "home")
        assert page.shown[page.rows.scroll_offset.y].startswith(one.title)


async def test_a_search_finds_messages_and_shows_the_match(store: Store) -> None:
    async with listed(store) as page:
        await page.press(*"zebras", "enter")
        assert page.titles == ["Sorted lists"]
        assert "zebraS" in page.shown[2]
        chosen = page.rows.listing.summaries[0].id
        assert page.host.received == [("chosen", chosen)]
        assert page.host.found == store.path(chosen)[-1].id
        await page.press("end", "space")
        assert page.host.screen.active_bindings["down"].binding.id == "chats.list"  # it is named
        await page.press(*"but nothing like thats", "enter", "down", "backspace")
        assert page.chats.search.value == "zebras but nothing like that"  # it has the keys still
        assert page.titles == []
        assert "No conversation" in str(page.chats.hint.render())
        assert page.chats.hint.region.y == page.chats.search.region.bottom + 1
        await page.press("escape")
        assert page.host.received[1:] == ["left"]
        page.chats.close()
        page.chats.toggle()
        await page.press()
        assert len(page.titles) == 4
        assert page.chats.search.value == ""


def test_a_searched_word_is_marked_after_letters_that_fold_to_two() -> None:
    line = snippet(ChatSummary(1, "", 0.0, 0.0, False, 0, "Straße zum ZOO"), ["zoo"], 40)
    assert [line.plain[begin:end] for begin, end, _ in line.spans[1:]] == ["ZOO"]


async def test_a_title_is_changed_and_escape_keeps_it(store: Store) -> None:
    async with listed(store) as page:
        await page.press("ctrl+r", "end", *" again", "enter")
        assert page.titles[0] == store.summaries()[0].title == "Lisbon again"
        await page.press("ctrl+r", *"Another", "escape")
        assert store.summaries()[0].title == "Lisbon again"
        assert page.host.focused is page.rows


async def test_pinned_conversation_stands_first_and_keeps_the_cursor(store, monkeypatch) -> None:
    full = StorageError("The disk is full. Free some space.")
    async with listed(store) as page:
        await page.press("down", "down", "ctrl+b")
        assert page.titles[0] == "Lentil soup"
        assert (page.shown[0], page.rows.cursor) == ("Pinned", 0)
        await page.press("ctrl+b")
        assert page.titles == list(reversed(TITLES))
        assert page.rows.cursor == 2
        monkeypatch.setattr(store, "pin", Mock(side_effect=full))
        await page.press("ctrl+b")
        assert page.notices == ["The disk is full. Free some space."]
        assert page.titles == list(reversed(TITLES))


async def test_deleted_conversations_come_back_in_reverse(store: Store) -> None:
    async with listed(store) as page:
        await page.press("delete", "delete")
        assert page.titles == ["Lentil soup", "Lighthouse"]
        assert page.notices == ["Deleted. Ctrl+Z in this list brings it back."]  # the newest alone
        assert [what for what, _ in page.host.received] == ["deleted", "deleted"]
        await page.press("down", "ctrl+z")
        assert page.titles == ["Sorted lists", "Lentil soup", "Lighthouse"]
        assert page.rows.cursor == 0  # on what is back
        await page.press("ctrl+z", "ctrl+z")
        assert page.titles == list(reversed(TITLES))


async def test_export_writes_markdown_and_overwrites_nothing(store: Store, tmp_path: Path) -> None:
    async with listed(store, tmp_path) as page:
        for _ in range(2):
            await page.press("ctrl+x", "enter")
        first, second = sorted(tmp_path.iterdir())
        assert "Tell me about Lisbon." in first.read_text()
        assert first.read_text() == second.read_text()
        for folder in ("/no/such/folder", "~no-such-user/x"):
            await page.press("ctrl+x", *folder, "enter")
            assert folder in page.notices[-1]
        assert len(list(tmp_path.iterdir())) == 2


async def test_the_current_conversation_is_marked_without_colour(store: Store) -> None:
    async with listed(store) as page:
        page.chats.rows.current = store.summaries()[1].id
        await page.pilot.pause()
        assert [line.startswith("▌") for line in page.shown] == [False, False, True, False, False]
        page.chats.close()
        page.rows.fill(Listing())  # as before it was opened for the first time
        page.chats.toggle()
        await page.press()
        assert page.rows.cursor == 1


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


async def test_a_refresh_of_the_list_cancels_no_opening(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with listed(store) as page:
        await page.press(*"zebra")
        reading, go_on = Event(), Event()

        def slowly(*asked: Any) -> Any:
            reading.set()
            go_on.wait(WAIT_S)
            return listing(*asked)

        monkeypatch.setattr("tui.chat.chat_list.listing", slowly)
        await page.pilot.press("enter")
        await asyncio.to_thread(reading.wait, WAIT_S)
        page.chats.refresh_list()  # as at the end of an answer
        go_on.set()
        await page.until(lambda: not [*page.host.workers])
        assert len(page.titles) == 4
        await page.press("enter")
        assert page.host.received == [("chosen", store.summaries("zebra")[0].id)]
