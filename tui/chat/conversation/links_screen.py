"""The links of a message: where each leads, to be read before it is opened."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.app.clipboard import copy_and_say, open_address
from tui.safe import safe

HINT = "Enter opens it in the browser · c copies it · Esc closes"


class LinksScreen(ModalScreen[None]):
    """Choose one of the addresses that a message leads to."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "Copy the address", id="links.copy"),
        Binding("escape,l,q", "dismiss", "Close", id="links.close"),
        Binding("ctrl+c", "app.help_quit", "Quit", show=False),
    ]
    DEFAULT_CSS = """
    LinksScreen {
        align: center middle;
        background: $background 60%;

        & > Vertical {
            width: 90%; max-width: 110; height: auto; max-height: 90%; padding: 0 1;
            border: round $primary; background: $surface;
            border-title-color: $text-accent; border-title-style: bold;
            border-subtitle-color: $text-muted;
        }
        & OptionList { height: auto; max-height: 100%; border: none; background: $surface; }
        & OptionList:focus { border: none; background-tint: $surface 0%; }
    }
    """

    def __init__(self, addresses: Sequence[str]) -> None:
        super().__init__()
        self._addresses = addresses
        self._list = OptionList(
            *(Option(Content(safe(address))) for address in addresses), markup=False
        )

    def compose(self) -> ComposeResult:
        """Show every address in full."""
        with Vertical() as box:
            box.border_title, box.border_subtitle = "Links", HINT
            yield self._list

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        """Open the address that was chosen."""
        open_address(self, self._addresses[message.option_index])

    def action_copy(self) -> None:
        """Copy the address under the cursor."""
        if self._list.highlighted is not None:
            copy_and_say(self, self._addresses[self._list.highlighted])
