"""Typing an @ and choosing a file."""

from dataclasses import dataclass

from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Location

from tui.chat.prompt.file_picker import Picker
from tui.safe import safe


@dataclass
class FileMentioned(Message):
    """A file was picked."""

    name: str


class Mention:
    """Open a list of files for an @ at the start of a word, and put the name into the text."""

    def __init__(self, area: TextArea, picker: Picker) -> None:
        self._area, self._picker = area, picker
        self._at: Location | None = None  # where the @ is for which a file is being picked

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
            self._close()
        elif key in ("up", "down"):
            picker = self._picker
            picker.action_cursor_up() if key == "up" else picker.action_cursor_down()
        else:
            return key in ("enter", "tab") and self.take()
        return True

    def take(self) -> bool:
        """Take the file under the list's cursor; return whether there is one."""
        name, start, end = self._picker.chosen, self._at, self._area.cursor_location
        if start is None or name is None:
            return False
        if name.endswith("/"):  # a folder, to be entered
            self._area.replace(f"@{safe(name)}", start, end)
            return True
        self._close()
        alone = self._area.text.strip() == self._area.get_text_range(start, end)
        self._area.replace("" if alone else f"{safe(name)} ", start, end)
        self._area.post_message(FileMentioned(name))
        return True

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
        self._at = None
        self._picker.close()
