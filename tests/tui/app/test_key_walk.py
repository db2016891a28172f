"""Every key on every screen: offered keys act, and others change nothing."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import cast

import pytest
from rich.table import Table
from textual._compositor import Compositor
from textual.events import Key, Paste
from textual.widget import Widget
from textual.widgets import Static
from textual.widgets._footer import FooterKey

from assistant.events import Step
from assistant.request import ToolCall
from assistant.session.unsent_text import Unsent
from assistant.store.values import Attachment, ChatSummary, StoredMessage
from tests.assistant.session.scripted_session import READ, Box
from tests.patience import ALL
from tests.stored import ask, begin, end
from tests.tui.app.bindings import all_bindings
from tests.tui.chat.chat_driver import Chat, Pair, open_chat
from tests.tui.chat.turns import RESIDUAL, ghost, token
from tui.app import help_screen
from tui.app.help_screen import HelpScreen, readable
from tui.chat import dialogs
from tui.chat.conversation.tool_turns import KEYS
from tui.chat.conversation.turn import Turn
from tui.chat.prompt.prompt import CHOOSING, PICKING
from tui.chat.screen import ChatScreen
from tui.race.screen import RaceScreen
from tui.widgets.entry_screen import EntryLine
from tui.widgets.keyline import ORDER, KeyLine

PLACES = {
    "prompt": (), "typing": ("h",), "in line": (), "file": ("@",), "no file": ("@", "z", "q"),
    "no form": ("f7", "z", "q"), "form": ("f7",), "question": ("ctrl+up", "up"),
    "answer": ("ctrl+up",), "panel": ("f3",), "list": ("f2",), "rename": ("f2", "ctrl+r"),
    "export": ("f2", "ctrl+x"), "search": ("f2", "a"), "help": ("f1",), "models": ("f5",),
    "filter": ("f5", "a"), "path": ("f5", "ctrl+o"), "settings": ("f6",),
    "tools": ("f9",), "attachments": ("ctrl+l",), "inspector": ("ctrl+up", "i"),
    "change": ("ctrl+up", "a"), "sources": ("ctrl+up", "up", "s"),
    "race": ("f4",), "call": (), "asked": ("ctrl+up",),
}  # fmt: skip
"""The keys that lead to each place; in the last two a call waits."""
WIDE = 160
"""Cells of a screen on which all keys of a footer fit."""
NARROW = ("answer", "list", "panel")
"""Places that are walked on a narrow screen as well, where one part covers another."""
FIXED = [*help_screen.ALWAYS, *help_screen.PICKING, *chain(*help_screen.TYPED.values())]
"""Lines of the help on what is no binding."""
WALKS = {
    **{f"wide {i}": (WIDE, tuple(PLACES)[i : i + 7]) for i in range(0, len(PLACES), 7)},
    "narrow": (60, NARROW),
}
"""The places of each walk; neighbours are alike, and share what is tried."""
EVERYWHERE, IN_CHAT = ("z", "space"), ("f2", "f3")
GUESSED = Step((token("bl"), token("ue", RESIDUAL)), (ghost("ack"),))
CALLS = ("call", "asked")
PROMISES = {
    f"█ {KEYS}": ("enter", "c", "a", "escape"), PICKING: ("enter", "escape"),
    CHOOSING: ("enter", "escape"),
    dialogs.HINT: ("enter", "escape"), "Enter opens the file there": ("enter", "escape"),
    "Enter sends the next · ↑ to edit": ("enter", "up"),
}  # fmt: skip
"""Words of a card, a frame or a line, and the keys that they name."""
ASKED = (Attachment("a.txt", "red\nsky"), Attachment("b.md", "Blue is a colour.", 1, 1, 1))
ANSWER = "See https://blue.example [1].\n\n```\nblue\nsky\n```\n"
MOVES = {
    *("turn.previous", "turn.next", "turn.jump_back", "turn.jump", "turn.first", "turn.last"),
    *("chats.up", "chats.down", "chats.page_up", "chats.page_down", "chats.first", "chats.last"),
    *("inspector.left", "inspector.right", "inspector.up", "inspector.down", "inspector.first"),
    *("inspector.page_up", "inspector.page_down", "inspector.line_start", "inspector.line_end"),
    *("inspector.last", "inspector.next_rejection", "inspector.previous_rejection"),
    *("chat.oldest", "chat.newest", "settings.up", "settings.down"),
}
"""Keys that go somewhere, and do nothing where they have arrived."""
LEAVING = ("ctrl+q", "ctrl+c", "super+c", "ctrl+d")
"""Keys that end the program, or would if they were pressed twice."""


class Walker(Chat):
    """Somebody who tries every key."""

    async def stand(self, place: str) -> None:
        """Go to a place from the prompt of a conversation that is as it was at first."""
        while self.app.screen is not self.screen:
            self.app.pop_screen()
            await self.pilot.pause()
        parts = self.screen
        await self.until(lambda: self.screen.session.idle)
        Path("a.txt").write_text("red\nsky\n")
        parts.chats.search.value, parts.chats.display, parts.panel.wanted = "", False, False
        self.screen.set_focus(self.prompt.editor)
        if self.stored != self._untouched or place in CALLS:
            self.screen.open(self.conversation((READ,) if place in CALLS else ()))
        self._untouched = self.stored
        self.prompt.drop()
        if place == "attachments":
            self.prompt.attached.add(ASKED[0])
        if place == "in line":
            self.prompt.queue.prompts = (Unsent("Why?"),)
        self.app.clear_notifications()
        await self.press(*PLACES[place])
        await self.until(lambda: parts.chats.rows.chosen or not parts.chats.display)
        await self.until(lambda: place != "models" or self.app.screen.list.options)  # type: ignore[attr-defined]
        await self.until(lambda: place != "race" or self.app.screen.phase == "over")  # type: ignore[attr-defined]

    _untouched: object = None
    listed: Mapping[str, str] = {}
    """The keys that the help lists here, but those that are typed and those that work anywhere."""

    @property
    def working(self) -> dict[str, str]:
        """The keys that work here and are no part of typing, with their names."""
        active = self.app.screen.active_bindings.items()
        return {
            key: each.binding.id
            for key, each in active
            if each.enabled and each.binding.id and each.node is not self.app
        }

    async def misnamed(self) -> list[str]:
        """Return what is wrong with the keys that the footer and the help name here."""
        working, faults, self.listed = self.working, [*self.misplaced()], {}
        if isinstance(self.app.screen, HelpScreen):
            return faults
        await self.press("f1")
        if not isinstance(self.app.screen, HelpScreen):
            return [*faults, "F1 opens no help"]
        table = cast(Table, self.app.screen.query_one("#keys", Static).content)
        columns = [[str(cell).strip() for cell in column.cells] for column in table.columns]
        rows = [*zip(*columns, strict=True)]
        self.app.pop_screen()
        await self.pilot.pause()
        named = [key for row in rows if row not in FIXED for key in row[0].split(", ")]
        self.listed = {key: name for key, name in working.items() if readable(key) in named}
        faults += [f"{key} works, and the help has it not" for key in {*working} - {*self.listed}]
        odd = {*named} - {readable(key) for key in working}
        return [*faults, *(f"the help lists {key}, which does not work" for key in odd)]

    def misplaced(self) -> Iterator[str]:
        """Yield what is wrong with the footer, where all keys fit."""
        lines = [*self.app.screen.query(KeyLine)]
        if not lines:
            return
        screen = self.app.screen
        parts = (*type(screen.focused).__mro__, *type(screen).__mro__)
        names = next((ORDER[part.__name__] for part in parts if part.__name__ in ORDER), ())
        if isinstance(screen.focused, EntryLine):  # the search of each list has its own keys
            area = "chats." if isinstance(screen, ChatScreen) else "models."
            names = tuple(name for name in names if name.startswith((area, "entry.")))
        here = {each.id for _, bindings in screen._binding_chain for _, each in bindings}
        yield from (f"the footer's {name} is no key here" for name in names if name not in here)
        active = screen.active_bindings
        working = {each.binding.id for each in active.values() if each.enabled}
        shown = [key.key for key in lines[0].query(FooterKey)]
        named = [active[key].binding.id if key in active else key for key in shown]
        if screen.size.width == WIDE:
            wanted = [name for name in names if name in working]
            yield from (f"the footer lacks {name}" for name in wanted if name not in named)
        yield from (f"the footer offers {name}" for name in named if name not in working)

    def conversation(self, calls: tuple[ToolCall, ...]) -> int:
        """Keep a question and its answer."""
        number = self.store.create("A question")
        asked = ask(self.store, number, None, "Which colour?", ASKED)
        answered = begin(self.store, number, asked.id, "tiny")
        end(self.store, answered.id, ANSWER, (GUESSED,), tool_calls=calls)
        return number

    def promised(self, seen: str) -> list[str]:
        """Return the keys that a card, a frame or a line names."""
        return [key for promise, keys in PROMISES.items() if promise in seen for key in keys]

    def offered(self, seen: str) -> list[str]:
        """Return the keys that are named, none of which is dim."""
        footer = [k.key for k in self.app.screen.query(FooterKey) if not k.has_class("-disabled")]
        named = {key: name for key, name in self.working.items() if name not in MOVES}
        return [*footer, *self.promised(seen), *(key for key in named if key in self.listed)]

    @property
    def keys(self) -> list[str]:
        """The keys to try: those that mean something here or anywhere, and some that do not."""
        chain = self.app.screen._binding_chain[:2]
        own = [key for _, bindings in chain for key, binding in bindings if binding.id]
        own += [*self.promised(self.seen), *EVERYWHERE, *self.listed]
        ways = {keys[0] for keys in PLACES.values() if len(keys) == 1} - {*IN_CHAT}  # `stand` tries
        untried = {*LEAVING, "f1"} | (ways if self.app.screen is self.screen else set())
        return [key for key in dict.fromkeys(own) if key not in untried]

    @property
    def seen(self) -> str:
        """All that is on the screen, with what has the focus, and what was told."""
        focus = self.app.screen.focused
        at = (focus, getattr(focus, "cursor_location", None), getattr(focus, "cursor", None))
        return f"{self.app.screen} {at} {self.notices}\n{self.text}"

    @property
    def here(self) -> tuple[object, ...]:
        """Where the next key goes."""
        shown = self.screen.panel.display, self.prompt.text
        return self.app.screen, self.app.screen.focused, shown

    @property
    def situation(self) -> tuple[object, ...]:
        """What gives keys their meaning; places of the same one differ in what is shown."""
        sides = self.screen.chats.display, self.screen.panel.display
        screen = self.app.screen
        return type(screen), type(screen.focused), sides, *self.promised(self.seen)

    @property
    def stored(self) -> tuple[Sequence[ChatSummary], list[StoredMessage], str]:
        """All that is kept."""
        return self.store.summaries(), list(self.path.records), Path("a.txt").read_text()

    def faults(self, key: str, before: tuple[str, bool, object], stored: object) -> Iterator[str]:
        """Yield what was wrong with what a key did."""
        seen, offered, focused = before
        now = self.seen
        if offered and now == seen and not isinstance(self.app.screen, RaceScreen):
            yield "is offered, and nothing happens"
        if self.stored != stored and now == seen:
            yield "changes what is kept, and nothing is seen"
        if isinstance(focused, Turn) and key in EVERYWHERE and not self.prompt.text:
            yield "is no key of a message, and the prompt does not get it"
        focus = self.app.screen.focused
        parts = focus.ancestors_with_self if focus else []
        if not all(part.display for part in parts if isinstance(part, Widget)):
            yield f"leaves the keys to {focus}, which is hidden"
        if isinstance(self.app.screen, ChatScreen) and not (focus and self.screen.shows(focus)):
            yield f"leaves the keys to {focus}, which is covered"


@pytest.mark.parametrize(("width", "places"), WALKS.values(), ids=WALKS)
async def test_an_offered_key_acts_and_others_change_nothing(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, places: Sequence[str]
) -> None:
    """Every day a key is tried once in each situation, and in a thorough run in every place."""
    monkeypatch.chdir(tmp_path)  # where conversations are exported to
    # All is painted where the walker looks, and nothing meanwhile.
    monkeypatch.setattr(Compositor, "render_update", lambda at, **_: at._dirty_regions.clear())
    faults: list[str] = []
    tried: set[tuple[object, ...]] = set()
    async with open_chat(*pair, size=(width, 24), max_tokens=2, n_ctx=4096) as chat:
        chat.__class__ = Walker
        assert isinstance(chat, Walker)
        chat.use(Box())
        for place in places:
            await chat.stand(place)
            faults += [f"{place}: {fault}" for fault in await chat.misnamed()]
            situation, offered, moved = chat.situation, chat.offered(chat.seen), False
            for key in chat.keys:
                trial = (*situation, key, key in offered)
                if trial in tried and not ALL:
                    continue
                tried.add(trial)
                if moved:
                    await chat.stand(place)
                here, stored = chat.here, chat.stored
                seen = chat.seen
                before = seen, key in chat.offered(seen), chat.app.screen.focused
                await chat.press(key)
                await chat.until(lambda: chat.screen.session.idle)
                found = chat.faults(key, before, stored)
                faults += [f"{place}, {width} cells: {key} {fault}" for fault in found]
                moved = (chat.here, chat.stored) != (here, stored)
    assert tried
    assert not faults, "\n".join(faults)


def test_the_footer_names_keys_that_exist() -> None:
    assert {*chain.from_iterable(ORDER.values())} <= {*all_bindings()}


async def test_words_typed_on_a_message_go_to_the_prompt_and_press_no_keys(pair: Pair) -> None:
    async with open_chat(*pair, asked=("One",)) as chat:
        before = chat.texts
        await chat.press("ctrl+up")
        for letter in " Write only r":  # as fast as a terminal sends them
            chat.app.post_message(Key("space" if letter == " " else letter, letter))
        await chat.until(lambda: chat.prompt.text == " Write only r")
        await chat.press("ctrl+up")
        chat.app.post_message(Paste("dr"))
        await chat.until(lambda: chat.prompt.text == " Write only rdr")
        await chat.press("ctrl+up", "e")
        assert "Not on this message: edit, and ask again." in chat.notices
        assert chat.texts == before
