"""The links of a message: where each leads, to be read before it is opened."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.app.clipboard import copy_and_say, open_address
from tui.safe import safe
from tui.widgets.dialog import Dialog

HINT = "Enter opens it in the browser · c copies it · Esc closes"


class LinksScreen(Dialog[None]):
    """Choose one of the addresses that a message leads to."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "Copy the address", id="links.copy"),
        Binding("escape,l,q", "dismiss", "Close", id="links.close"),
    ]
    DEFAULT_CSS = """
    LinksScreen > .frame { width: 90%; max-width: 110; padding: 0 2; }
    """

    def __init__(self, addresses: Sequence[str]) -> None:
        super().__init__()
        self._addresses = addresses
        shown = (Option(Content(safe(address))) for address in addresses)
        self._list = OptionList(*shown, markup=False, compact=True)

    def compose(self) -> ComposeResult:
        """Show every address in full."""
        with Vertical(classes="frame") as box:
            box.border_title, box.border_subtitle = "Links", HINT
            yield self._list

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        """Open the address that was chosen."""
        open_address(self, self._addresses[message.option_index])

    def action_copy(self) -> None:
        """Copy the address under the cursor."""
        if self._list.highlighted is not None:
            copy_and_say(self, self._addresses[self._list.highlighted])
