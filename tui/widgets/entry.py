"""A line to type into."""

from textual.actions import SkipAction
from textual.reactive import reactive
from textual.widgets import Input
from textual.widgets.input import Selection

from tui.app.clipboard import copy_and_say


class EntryLine(Input):
    """An input that says what it copied, and drops the selection, so that Ctrl+C twice quits.

    Its cursor does not blink, as the prompt's does not.
    """

    cursor_blink = reactive(False, init=False)

    def action_copy(self) -> None:
        """Copy the selection."""
        if not self.selected_text:
            raise SkipAction
        copy_and_say(self, self.selected_text)
        self.selection = Selection.cursor(self.cursor_position)
