"""The passages that an answer cites: read here, or opened in an editor where they stand."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from assistant.store.values import Attachment
from tui.safe import one_line, safe
from tui.widgets.dialog import ListDialog


class SourcesScreen(ListDialog[None]):
    """List passages above the text of the one under the cursor; `open_` opens its file."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,s,q", "dismiss", "Close", id="sources.close"),
    ]
    DEFAULT_CSS = "SourcesScreen OptionList { max-height: 8; }"

    def __init__(self, sources: Sequence[Attachment], open_: Callable[[Attachment], None]) -> None:
        super().__init__("Sources", "Enter opens the file there · Esc goes back")
        self._sources, self._open = sources, open_

    def on_mount(self) -> None:
        """Begin with the first."""
        self.list.set_options([Option(Content(one_line(each.title))) for each in self._sources])
        self.list.highlighted = 0
        self.list.focus()

    @on(OptionList.OptionHighlighted)
    def show_text(self, message: OptionList.OptionHighlighted) -> None:
        """Show the passage under the cursor, as it was when it was found."""
        self.tell(Content(safe(self._sources[message.option_index].text)))

    @on(OptionList.OptionSelected)
    def open(self, message: OptionList.OptionSelected) -> None:
        """Open the file where the passage stands."""
        self._open(self._sources[message.option_index])
