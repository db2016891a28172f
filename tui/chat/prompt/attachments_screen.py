"""The attachments of the prompt: read, remove, or insert them into the text."""

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui.chat.prompt.prompt_attachments import EDITABLE, Chip
from tui.safe import safe

PREVIEW = 20_000
"""Characters of an attachment that are shown."""

Outcome = tuple[tuple[Chip, ...], Chip | None]
"""What stays attached, and what is inserted into the text instead."""


class AttachmentsScreen(ModalScreen[Outcome]):
    """List the attachments above the text of the one under the cursor."""

    DEFAULT_CSS = """
    AttachmentsScreen {
        align: center middle;
        background: $background 60%;

        & > Vertical {
            width: 100; max-width: 96%; height: 90%; padding: 0 1; background: $surface;
            border: round $primary;
            border-title-color: $text-accent; border-title-style: bold;
            border-subtitle-color: $text-muted;
        }
        & OptionList {
            height: auto; max-height: 6; padding: 0; border: none; background: $surface;
        }
        & OptionList:focus { border: none; }
        & VerticalScroll {
            height: 1fr; margin: 1 0 0 0; padding: 0 1; scrollbar-size-vertical: 1;
            border-top: solid $border-blurred;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", id="attachments.close"),
        Binding("delete,d", "drop", "Remove", id="attachments.drop"),
        Binding("backspace", "drop", show=False),
        Binding("i", "insert", "Insert into the text", id="attachments.insert"),
        Binding("pageup", "scroll(-1)", "Scroll up", show=False, priority=True),
        Binding("pagedown,space", "scroll(1)", "Scroll down", show=False, priority=True),
        Binding("ctrl+c", "app.help_quit", "Quit", show=False),
    ]

    def __init__(self, chips: tuple[Chip, ...]) -> None:
        super().__init__()
        self.chips = chips
        self.choices = OptionList(markup=False)
        self.preview = Static("", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the list and the text."""
        with Vertical() as box:
            box.border_title = "Attached"
            box.border_subtitle = "d removes · i inserts into the text · Esc goes back"
            yield self.choices
            with VerticalScroll(can_focus=False):
                yield self.preview

    def on_mount(self) -> None:
        """Show the newest."""
        self._list(len(self.chips) - 1)
        self.choices.focus()

    def _list(self, highlighted: int) -> None:
        self.choices.set_options([Option(_row(chip)) for chip in self.chips])
        self.choices.highlighted = min(highlighted, len(self.chips) - 1)

    @on(OptionList.OptionHighlighted)
    def show_text(self, message: OptionList.OptionHighlighted) -> None:
        """Show the text under the cursor."""
        text = self.chips[message.option_index].attachment.text
        more = len(text) - PREVIEW
        rest = ("\n\n… and " + f"{more:,} characters more", "$text-muted") if more > 0 else ""
        self.preview.update(Content.assemble(safe(text[:PREVIEW]), rest))
        self.query_one(VerticalScroll).scroll_home(animate=False)

    @property
    def _chosen(self) -> int:
        return self.choices.highlighted or 0

    def action_scroll(self, direction: int) -> None:
        """Scroll the text by a page."""
        view = self.query_one(VerticalScroll)
        view.scroll_page_up() if direction < 0 else view.scroll_page_down()

    def action_drop(self) -> None:
        """Remove the attachment."""
        index = self._chosen
        self.chips = (*self.chips[:index], *self.chips[index + 1 :])
        if self.chips:
            self._list(index)
        else:
            self.action_close()

    @on(OptionList.OptionSelected)
    def action_insert(self) -> None:
        """Put its text where the cursor is, unless that makes the prompt slow."""
        chip = self.chips[self._chosen]
        size = len(chip.attachment.text)
        if size > EDITABLE:
            text = f"{size:,} characters are too many to edit here; the limit is {EDITABLE:,}."
            self.notify(text, severity="warning", timeout=6, markup=False)
        else:
            self.dismiss((self.chips, chip))

    def action_close(self) -> None:
        """Go back to the prompt."""
        self.dismiss((self.chips, None))


def _row(chip: Chip) -> Content:
    return Content.assemble(
        (safe(chip.attachment.name), "bold"), ("  " + chip.about, "$text-muted")
    )
