"""The lines below the list of models: a filter, and the path or the name of any file."""

import asyncio
from dataclasses import dataclass
from typing import Literal

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static

from models.catalog import GGUF
from models.errors import SpecchatError
from models.files.discovery import identify
from models.files.locate import resolve
from models.files.model_file import ModelFile
from models.files.stores import find
from tui.models.inventory import ModelInventory
from tui.safe import safe
from tui.widgets.entry import EntryLine


class ModelLines(Vertical):
    """Take a filter or a path, and say what came of it."""

    DEFAULT_CSS = """
    ModelLines {
        height: auto;

        & Input { display: none; border: round $primary; background: $surface; }
        & Static { height: auto; padding: 0 1; color: $text-warning; display: none; }
    }
    """

    @dataclass
    class Typed(Message):
        """It is known what was typed: a file, or one of the hub that is not here."""

        model: ModelFile | GGUF

    def __init__(self, stock: ModelInventory) -> None:
        super().__init__()
        self._stock = stock
        self.filter = EntryLine(
            placeholder="words of a name, a quantisation, a place", id="models-filter"
        )
        self.path = EntryLine(
            placeholder="/path/to/model.gguf or org/repo:Q4_K_M", id="models-path"
        )
        self.message = Static("", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the message and the lines, of which at most one is shown."""
        yield self.message
        yield self.filter
        yield self.path

    def say(self, text: str) -> None:
        """Show a sentence, or nothing."""
        self.message.update(safe(text))
        self.message.display = bool(text)

    def open(self, what: Literal["filter", "path"]) -> None:
        """Let the user type."""
        self.filter.display, self.path.display = what == "filter", what == "path"
        (self.filter if what == "filter" else self.path).focus()

    def close(self) -> bool:
        """Close the line that is open, forgetting what is in it; say whether one was."""
        shown = [line for line in (self.filter, self.path) if line.display]
        for line in shown:
            line.value, line.display = "", False
        self.say("")
        return bool(shown)

    @on(Input.Submitted, "#models-path")
    def look(self, message: Input.Submitted) -> None:
        """Look at what was typed."""
        message.stop()
        if text := message.value.strip().strip("'\""):
            self._look(text)

    @work(exclusive=True, group="typed")
    async def _look(self, text: str) -> None:
        try:
            self.post_message(self.Typed(await asyncio.to_thread(self._find, text)))
        except SpecchatError as error:
            self.say(str(error))

    def _find(self, text: str) -> ModelFile | GGUF:
        known = resolve(text)
        if isinstance(known, GGUF) and find(known) is None:
            return known
        return identify(text, self._stock.models)
