"""Choosing a file by typing @ and a few letters of its name."""

import asyncio
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from urllib.parse import unquote, urlsplit

from textual import work
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, TextArea
from textual.widgets.option_list import Option
from textual.widgets.text_area import Location

from models.files.places import expand_user
from tui.chat.prompt.file_search import FuzzyMatch, files_below, is_begun, is_path, matching
from tui.safe import one_line, safe

MAX_LISTED = 50
"""Files offered at a time."""


class Picker(OptionList):
    """List the files that match what is typed after an @, and put the chosen name into the text.

    The prompt keeps the focus.
    """

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

    def __init__(self, area: TextArea) -> None:
        super().__init__(markup=False)
        self._area = area
        self._at: Location | None = None  # of the @ for which it is open
        self.on_pick: Callable[[str], None] | None = None
        """Called with the chosen file instead of attaching it."""
        self.searched: str | None = None  # the text that the listed files match; None: searching
        self._is_awaited = False  # whether Enter was pressed since the search began
        self._matches: tuple[FuzzyMatch, ...] = ()
        self._files_below: tuple[str, ...] | None = None  # searched once each time it opens
        self.entered: str | None = None  # the folder whose files were asked for
        self._search_lock = Lock()

    class Changed(Message):
        """It was opened or closed, or lists other files."""

    def _open(self, at: Location) -> None:
        """Show the list for an @, with the files that exist now."""
        self._at = at
        self._files_below, self._matches, self.searched, self.entered = None, (), None, None
        self.set_options([Option("Looking for files…", disabled=True)])
        self.display = True
        self.post_message(self.Changed())
        self.search("")

    def _hide(self) -> None:
        self._at = self.on_pick = None
        self.display = False
        self.post_message(self.Changed())
        self.workers.cancel_node(self)

    def pick(self, on_pick: Callable[[str], None]) -> None:
        """Have a file chosen for `on_pick`; a second call cancels. The typed @ name is removed."""
        if self.on_pick:
            self._cancel()
            return
        self.on_pick, at = on_pick, self._area.cursor_location
        self._area.insert("@")
        self._open(at)

    def open(self) -> None:
        """Open it if the @ before the cursor starts a word."""
        row, column = self._area.cursor_location
        before = self._area.document.get_line(row)[: column - 1]
        if not before or before[-1].isspace():
            self._open((row, column - 1))

    def use_key(self, key: str) -> bool:
        """Handle a key while it is open; return whether it was used."""
        if self._at is None:
            return False
        if key in ("enter", "tab"):  # without a file, Enter sends the text
            self._is_awaited = self.searched is None
            return self.accept() or self.on_pick is not None or self._is_awaited
        moves = {"up": self.action_cursor_up, "down": self.action_cursor_down}
        act = self._cancel if key == "escape" else moves.get(key)
        if act is not None:
            act()
        return act is not None

    def accept(self) -> bool:
        """Choose the file under its cursor; return whether there is one."""
        name, start, end = self.chosen, self._at, self._area.cursor_location
        if start is None or name is None:
            return False
        if name.endswith("/") and not self._is_typed(name):  # else a folder is attached
            self.entered = name
            self._area.replace(f"@{safe(name)}", start, end)
            return True
        if (on_pick := self.on_pick) is not None:
            self._cancel()
            on_pick(name)
            return True
        self._hide()
        self._mention(name, start, end)
        return True

    def paste(self, text: str) -> bool:
        """Attach a file or folder that was dropped or pasted; return whether the text names one."""
        if self._at or not (name := dropped_path(text)):
            return False
        self._mention(name, *self._area.selection)
        return True

    def _mention(self, name: str, start: Location, end: Location) -> None:
        alone = self._area.text.strip() == self._area.get_text_range(start, end)
        self._area.replace("" if alone else f"{safe(name)} ", start, end)
        self._area.post_message(FileMentioned(name))

    def _cancel(self) -> None:
        """Close it; with `on_pick`, remove the @ name from the text."""
        start, end = self._at if self.on_pick else None, self._area.cursor_location
        self._hide()
        if start:
            self._area.replace("", start, end)

    def search_typed(self) -> None:
        """Search for the name typed after the @; close it if that has ended."""
        if self._at is None:
            return
        (row, column), (end_row, end) = self._at, self._area.selection.end
        typed = self._area.document.get_line(row)[column:end] if end_row == row else ""
        if not typed.startswith("@") or (re.search(r"\s", typed) and not is_begun(typed[1:])):
            self._hide()
        else:
            self.searched, self._is_awaited = None, False
            self.search(typed[1:])

    @property
    def chosen(self) -> str | None:
        """The file under the cursor, or the folder, which ends in a slash; none while searching."""
        if self.searched is None or self.highlighted is None:
            return None
        return self._matches[self.highlighted].name

    @work(exclusive=True, group="files")
    async def search(self, typed: str) -> None:
        """List the files that match the typed text; an earlier search is cancelled."""
        self._matches = await asyncio.to_thread(self._matching, typed)
        self.searched = typed
        rows = [Option(_row(match, self._is_typed(match.name))) for match in self._matches]
        nothing = f"No text file matches “{safe(typed)}” · Esc closes"
        self.set_options(rows or [Option(Content(nothing), disabled=True)])
        first = 1 if typed == self.entered and len(rows) > 1 else 0  # below the folder itself
        self.highlighted = first if rows else None
        self.post_message(self.Changed())
        if self._is_awaited:
            self._is_awaited = False
            self.accept()

    def _is_typed(self, name: str) -> bool:
        """Return whether a name is the folder that was typed in full."""
        return name.endswith("/") and name == _folder(self.searched or "")

    def _matching(self, typed: str) -> tuple[FuzzyMatch, ...]:
        name = _folder(typed)
        is_folder = bool(typed) and name.endswith("/") and os.path.isdir(expand_user(name))
        with self._search_lock:
            if self._files_below is None:
                self._files_below = files_below(Path())
        files = matching(typed, self._files_below, MAX_LISTED)
        return (*([FuzzyMatch(name)] if is_folder else []), *files)


def _folder(typed: str) -> str:
    """Return the name of a folder as it was typed: letters of a name need no slash."""
    return typed if is_path(typed) else f"{typed.rstrip('/')}/"


def _row(match: FuzzyMatch, is_typed: bool) -> Content:
    """Return the name with the typed letters underlined."""
    row = Content(one_line(match.name) + ("  the folder itself, to ask about" if is_typed else ""))
    for mark in match.marked:
        row = row.stylize("bold underline", mark, mark + 1)
    return row


def dropped_path(text: str) -> str:
    """Return the path that a text is and nothing else, as terminals write it; empty if none.

    They quote what was dropped, escape its spaces, or make it an address: file:///my%20notes.
    """
    try:
        (name,) = shlex.split(text)
        address = urlsplit(name)
    except ValueError:  # other words, or an apostrophe
        return ""
    name = unquote(address.path) if address.scheme == "file" else name
    return name if re.match("~?/[^/]", name) and os.path.exists(expand_user(name)) else ""


@dataclass
class FileMentioned(Message):
    """A file was picked."""

    name: str
