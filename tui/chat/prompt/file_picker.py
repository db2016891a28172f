"""Choosing a file by an @ and a few letters of its name."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from textual import work
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, TextArea
from textual.widgets.option_list import Option
from textual.widgets.text_area import Location

from tui.chat.prompt.file_search import FuzzyMatch, entries, files_below, is_path, located, ranked
from tui.safe import one_line, safe

SHOWN = 50
"""Files offered at a time."""


class Picker(OptionList):
    """A list of files that follows what is typed; the keys stay with the prompt."""

    DEFAULT_CSS = """
    Picker {
        height: auto; max-height: 8; padding: 0; border: none; background: $panel; display: none;

        & > .option-list--option { padding: 0 1; }
        & > .option-list--option-highlighted {
            color: $block-cursor-foreground; background: $block-cursor-background;
            text-style: $block-cursor-text-style;
        }
    }
    """

    can_focus = False

    def __init__(self, root: Path) -> None:
        super().__init__(markup=False)
        self.root = root
        self.searched: str | None = None  # what is offered goes with this
        self._matches: tuple[FuzzyMatch, ...] = ()
        self._below: tuple[str, ...] | None = None  # looked for once each time it opens
        self.entered: str | None = None  # a folder; one that is typed is meant itself
        self._one_at_a_time = Lock()

    class Turned(Message):
        """It was opened or closed, or there is something else to choose from."""

    @property
    def opened(self) -> bool:
        """Whether there is a list to choose from."""
        return self.display

    def open(self) -> None:
        """Offer the files that are there now."""
        self._below, self._matches, self.searched, self.entered = None, (), None, None
        self.set_options([Option("Looking for files…", disabled=True)])
        self.display = True
        self.post_message(self.Turned())
        self.look_for("")

    def close(self) -> None:
        """Close the list."""
        self.display = False
        self.post_message(self.Turned())
        self.workers.cancel_node(self)

    @property
    def chosen(self) -> str | None:
        """The file under the cursor, or the folder, which ends in a slash."""
        if self.highlighted is None or self.highlighted >= len(self._matches):
            return None
        return self._matches[self.highlighted].name

    @work(exclusive=True, group="files")
    async def look_for(self, typed: str) -> None:
        """Offer the files that go with what was typed, instead of those looked for before."""
        self._matches = await asyncio.to_thread(self._matching, typed)
        self.searched = typed
        rows = [Option(_row(match, self._is_itself(match.name))) for match in self._matches]
        nothing = f"No file matches “{safe(typed)}” · Esc closes"
        self.set_options(rows or [Option(Content(nothing), disabled=True)])
        is_entered = typed == self.entered and len(rows) > 1
        self.highlighted = int(is_entered) if rows else None
        self.post_message(self.Turned())

    def _is_itself(self, name: str) -> bool:
        typed = self.searched or ""
        return bool(typed) and name == (typed if is_path(typed) else _folder(typed))

    def is_entered(self, name: str) -> bool:
        """Whether a name is a folder to look into, not one that is typed and meant itself."""
        return name.endswith("/") and not self._is_itself(name)

    def _matching(self, typed: str) -> tuple[FuzzyMatch, ...]:
        name = typed if is_path(typed) else _folder(typed)
        is_folder = bool(typed) and name.endswith("/") and located(name, self.root).is_dir()
        return (*([FuzzyMatch(name)] if is_folder else []), *self._files(typed))

    def _files(self, typed: str) -> tuple[FuzzyMatch, ...]:
        if is_path(typed):
            folder, _, last = typed.rpartition("/")
            if typed == "~":
                return (FuzzyMatch("~/"),)
            shift = len(folder) + 1
            return tuple(
                FuzzyMatch(f"{folder}/{found.name}", tuple(mark + shift for mark in found.marked))
                for found in ranked(entries(f"{folder}/", self.root), last, SHOWN)
            )
        with self._one_at_a_time:
            if self._below is None:
                self._below = files_below(self.root)
        return ranked(self._below, typed, SHOWN)


def _folder(typed: str) -> str:
    return f"{typed.rstrip('/')}/"


def _row(match: FuzzyMatch, is_itself: bool) -> Content:
    """Return the name with the typed letters underlined."""
    row = Content(one_line(match.name) + "  the folder itself, to ask about" * is_itself)
    for mark in match.marked:
        row = row.stylize("bold underline", mark, mark + 1)
    return row


@dataclass
class FileMentioned(Message):
    """A file was picked."""

    name: str


class Mention:
    """Open a list of files for an @ at the start of a word, and put the name into the text."""

    def __init__(self, area: TextArea, picker: Picker) -> None:
        self._area, self._picker = area, picker
        self._at: Location | None = None  # where the @ is for which a file is being picked
        self.asks: Callable[[str], None] | None = None
        """Takes the file, which is not to be attached."""

    def ask(self, take: Callable[[str], None]) -> None:
        """Have a file picked for something else, or no longer; the @ and what follows it go."""
        if self.asks:
            self._leave()
            return
        self._at, self.asks = self._area.cursor_location, take
        self._area.insert("@")
        self._picker.open()

    def open(self) -> None:
        """Offer files, if the @ before the cursor begins a word."""
        row, column = self._area.cursor_location
        before = self._area.document.get_line(row)[: column - 1]
        if not before or before[-1].isspace():
            self._at = (row, column - 1)
            self._picker.open()

    def press(self, key: str) -> bool:
        """Use a key for the list of files; return whether it meant something there."""
        if self._at is None:
            return False
        if key == "escape":
            self._leave()
        elif key in ("up", "down"):
            picker = self._picker
            picker.action_cursor_up() if key == "up" else picker.action_cursor_down()
        else:
            return key in ("enter", "tab") and (self.take() or self.asks is not None)
        return True

    def take(self) -> bool:
        """Take the file under the list's cursor; return whether there is one."""
        name, start, end = self._picker.chosen, self._at, self._area.cursor_location
        if start is None or name is None:
            return False
        if self._picker.is_entered(name):
            self._picker.entered = name
            self._area.replace(f"@{safe(name)}", start, end)
            return True
        if (take := self.asks) is not None:
            self._leave()
            take(name)
            return True
        self._close()
        alone = self._area.text.strip() == self._area.get_text_range(start, end)
        self._area.replace("" if alone else f"{safe(name)} ", start, end)
        self._area.post_message(FileMentioned(name))
        return True

    def _leave(self) -> None:
        """Close the list, and take away what was only typed for it."""
        start, end = self._at, self._area.cursor_location
        goes = self.asks and start
        self._close()
        if goes:
            self._area.replace("", goes, end)

    def follow(self) -> None:
        """Look for what is typed after the @; without it there is nothing to look for."""
        if self._at is None:
            return
        (row, column), end = self._at, self._area.selection.end
        typed = self._area.document.get_line(row)[column : end[1]] if end[0] == row else ""
        if not typed.startswith("@") or any(letter.isspace() for letter in typed):
            self._close()
        else:
            self._picker.look_for(typed[1:])

    def _close(self) -> None:
        self._at = self.asks = None
        self._picker.close()
