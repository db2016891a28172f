"""Choosing a file by a few letters of its name."""

from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from textual import on, work
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option
from textual.worker import get_current_worker

from tui.chat.prompt.file_search import FuzzyMatch, entries, files_below, is_path, ranked
from tui.safe import one_line, safe

SHOWN = 50
"""Files offered at a time."""


class Picker(OptionList):
    """A list of files that follows what is typed; the keys stay with the prompt."""

    DEFAULT_CSS = """
    Picker {
        height: auto; max-height: 8; padding: 0; border: none; background: $panel;
        scrollbar-size-vertical: 1; display: none;

        & > .option-list--option { padding: 0 1; }
        & > .option-list--option-highlighted {
            color: $block-cursor-foreground; background: $block-cursor-background;
            text-style: $block-cursor-text-style;
        }
    }
    """

    can_focus = False

    class Clicked(Message):
        """The mouse chose what is under the cursor."""

    @dataclass
    class Found(Message):
        """A search has ended."""

        typed: str
        matches: tuple[FuzzyMatch, ...]

    def __init__(self, root: Path) -> None:
        super().__init__(markup=False)
        self.root = root
        self._typed = ""
        self.searched: str | None = None  # what is offered goes with this
        self._matches: tuple[FuzzyMatch, ...] = ()
        self._below: tuple[str, ...] | None = None  # looked for once each time it opens
        self._one_at_a_time = Lock()

    class Turned(Message):
        """It was opened or closed."""

    @property
    def opened(self) -> bool:
        """Whether there is a list to choose from."""
        return self.display

    def open(self) -> None:
        """Offer the files that are there now."""
        self._below, self._matches, self.searched = None, (), None
        self.set_options([Option("Looking for files…", disabled=True)])
        self.display = True
        self.post_message(self.Turned())
        self.look_for("")

    def look_for(self, typed: str) -> None:
        """Offer the files that go with what was typed."""
        self._typed = typed
        self._search(typed)

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

    @work(thread=True, exclusive=True, group="files")
    def _search(self, typed: str) -> None:
        worker = get_current_worker()
        with self._one_at_a_time:
            if worker.is_cancelled:
                return
            matches = self._matching(typed)
        self.post_message(self.Found(typed, matches))

    def _matching(self, typed: str) -> tuple[FuzzyMatch, ...]:
        if is_path(typed):
            folder, _, last = typed.rpartition("/")
            if typed == "~":
                return (FuzzyMatch("~/"),)
            shift = len(folder) + 1
            return tuple(
                FuzzyMatch(f"{folder}/{found.name}", tuple(mark + shift for mark in found.marked))
                for found in ranked(entries(f"{folder}/", self.root), last, SHOWN)
            )
        if self._below is None:
            self._below = files_below(self.root)
        return ranked(self._below, typed, SHOWN)

    @on(Found)
    def _offer(self, message: Found) -> None:
        message.stop()
        if message.typed != self._typed or not self.opened:
            return
        self._matches, self.searched = message.matches, message.typed
        nothing = Option(Content(f"No file matches “{safe(message.typed)}”."), disabled=True)
        self.set_options([Option(_row(match)) for match in message.matches] or [nothing])
        self.highlighted = 0 if message.matches else None

    @on(OptionList.OptionSelected)
    def _click(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        self.post_message(self.Clicked())


def _row(match: FuzzyMatch) -> Content:
    """Return the name with the typed letters underlined."""
    row = Content(one_line(match.name))
    for mark in match.marked:
        row = row.stylize("bold underline", mark, mark + 1)
    return row
