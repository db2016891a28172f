"""The change of a file that an answer proposes: to be looked at, and written."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from assistant.edit.comparison import Comparison
from tui.safe import one_line, safe
from tui.widgets.dialog import Dialog
from tui.widgets.hunks import counts, drawn

HINT = "Enter writes it · Esc leaves the file as it is"


class ChangeScreen(Dialog[bool]):
    """Show what would change in a file; say whether it is to be written."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "dismiss(True)", "Write the file", id="change.write"),
        Binding("escape,q", "dismiss(False)", "Leave it", id="change.leave"),
    ]
    DEFAULT_CSS = """
    ChangeScreen > .frame { width: 90%; max-width: 120; padding: 0 2; }
    ChangeScreen Static { height: auto; }
    """

    def __init__(self, name: str, comparison: Comparison, doubts: Sequence[str]) -> None:
        super().__init__()
        self._title = f"{one_line(name)} · {counts(comparison)} lines"
        notes = [Content.styled(safe(doubt), "$text-warning") for doubt in doubts]
        hunks = (Content.from_rich_text(drawn(hunk)) for hunk in comparison.hunks)
        self._change = Content("\n").join([*notes, *hunks])

    def compose(self) -> ComposeResult:
        """Lay out the change."""
        with VerticalScroll(classes="frame") as box:
            box.border_title, box.border_subtitle = self._title, HINT
            yield Static(self._change, markup=False)
