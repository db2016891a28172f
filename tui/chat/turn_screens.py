"""Screens that a turn opens: the passages it cites, and the change of a file it proposes."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from assistant.edit.comparison import Comparison
from assistant.store.values import Attachment
from tui.safe import one_line, safe
from tui.shell.diff_printing import counts, drawn
from tui.widgets.dialog import Dialog, ListDialog

HINT = "Esc leaves the file as it is · Enter writes it"


class SourcesScreen(ListDialog[None]):
    """List passages above the text of the one under the cursor; Enter opens its file."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,s,q", "dismiss", "Close", id="sources.close"),
    ]
    DEFAULT_CSS = "SourcesScreen OptionList { max-height: 8; }"

    def __init__(self, sources: Sequence[Attachment], open_: Callable[[Attachment], None]) -> None:
        super().__init__("Sources", "Esc goes back · Enter opens the file there")
        self._sources, self._open = sources, open_

    def on_mount(self) -> None:
        """List the passages, the cursor on the first."""
        self.list.set_options([Option(Content(one_line(source.title))) for source in self._sources])
        self.list.highlighted = 0
        self.list.focus()

    @on(OptionList.OptionHighlighted)
    def show_text(self, message: OptionList.OptionHighlighted) -> None:
        """Show the passage under the cursor, as it was when the search found it."""
        self.show_detail(Content(safe(self._sources[message.option_index].text)))

    @on(OptionList.OptionSelected)
    def open(self, message: OptionList.OptionSelected) -> None:
        """Open the file at the passage."""
        self._open(self._sources[message.option_index])


class ChangeScreen(Dialog[bool]):
    """Show the change of a file; return whether it is to be written."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "dismiss(True)", "Write the file", id="change.write"),
        Binding("escape,q", "dismiss(False)", "Leave it", id="change.leave"),
    ]
    DEFAULT_CSS = """
    ChangeScreen > .frame { width: 90%; max-width: 120; padding: 0 2; }
    ChangeScreen Static { height: auto; }
    """

    def __init__(self, name: str, comparison: Comparison, warnings: Sequence[str]) -> None:
        super().__init__()
        self._title = f"{one_line(name)} · {counts(comparison)} lines"
        notes = [Content.styled(safe(warning), "$text-warning") for warning in warnings]
        hunks = (Content.from_rich_text(drawn(hunk)) for hunk in comparison.hunks)
        self._change = Content("\n").join([*notes, *hunks])

    def compose(self) -> ComposeResult:
        """Lay out the change."""
        with VerticalScroll(classes="frame") as box:
            box.border_title, box.border_subtitle = self._title, HINT
            yield Static(self._change, markup=False)
