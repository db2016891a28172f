"""Typing an @ and picking the file that is meant."""

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Location

from tui.chat.prompt.file_picker import Picker
from tui.safe import safe

TAKEN = ("f6", "ctrl+y,super+y")
"""Keys of a text area that mean something else in the chat."""
_KEPT = [each for each in TextArea.BINDINGS if isinstance(each, Binding) and each.key not in TAKEN]


class Mentioning(TextArea, inherit_bindings=False):
    """A text area in which an @ at the start of a word opens a list of files."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *_KEPT,
        Binding("ctrl+shift+z,super+y", "redo", "Redo", show=False),
    ]

    @dataclass
    class Mentioned(Message):
        """A file was picked."""

        name: str

    _at: Location | None = None  # where the @ is for which a file is being picked

    def __init__(self, picker: Picker, placeholder: str) -> None:
        super().__init__(compact=True, highlight_cursor_line=False, placeholder=placeholder)
        self.picker = picker

    def open_picker(self) -> None:
        """Offer files, if the @ before the cursor begins a word."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[: column - 1]
        if not before or before[-1].isspace():
            self._at = (row, column - 1)
            self.picker.open()

    def pick(self, key: str) -> bool:
        """Use a key for the list of files; return whether it meant something there."""
        if self._at is None:
            return False
        if key == "escape":
            self._close_picker()
        elif key in ("up", "down"):
            move = self.picker.action_cursor_up if key == "up" else self.picker.action_cursor_down
            move()
        elif key in ("enter", "tab"):
            return self.mention()
        else:
            return False
        return True

    def mention(self) -> bool:
        """Take the file under the list's cursor; return whether there is one."""
        name = self.picker.chosen
        if self._at is None or name is None:
            return False
        self._put(name, self._at)
        if not name.endswith("/"):
            self.post_message(self.Mentioned(name))
        return True

    def _close_picker(self) -> None:
        self._at = None
        self.picker.close()

    def watch_selection(self) -> None:
        """Look for what is typed behind the @; without it there is nothing to look for."""
        if self._at is None:
            return
        (row, column), end = self._at, self.selection.end
        typed = self.document.get_line(row)[column : end[1]] if end[0] == row else ""
        if not typed.startswith("@") or any(letter.isspace() for letter in typed):
            self._close_picker()
        else:
            self.picker.look_for(typed[1:])

    def _put(self, name: str, start: Location) -> None:
        """Take the @ back, leaving the file's name where words are around it; enter a folder."""
        end = self.cursor_location
        if name.endswith("/"):
            self.replace(f"@{safe(name)}", start, end)
        else:
            self._close_picker()
            alone = self.text.strip() == self.get_text_range(start, end)
            self.replace("" if alone else f"{safe(name)} ", start, end)
