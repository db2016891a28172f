"""The attachments of the prompt: read, remove, or insert them into the text."""

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.chat.prompt.prompt_attachments import EDITABLE, Chip
from tui.figures import counted
from tui.safe import safe
from tui.widgets.dialog import ListDialog

PREVIEW = 20_000
"""Characters of an attachment that are shown."""

Outcome = tuple[tuple[Chip, ...], Chip | None]
"""What stays attached, and what is inserted into the text instead."""


class AttachmentsScreen(ListDialog[Outcome]):
    """List the attachments above the text of the one under the cursor."""

    DEFAULT_CSS = "AttachmentsScreen OptionList { max-height: 6; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", id="attachments.close"),
        Binding("delete,d", "drop", "Remove", id="attachments.drop"),
        Binding("backspace", "drop", show=False),
        Binding("i", "insert", "Insert into the text", id="attachments.insert"),
        Binding("space", "scroll(1)", "Scroll down", show=False, priority=True),
    ]

    def __init__(self, chips: tuple[Chip, ...]) -> None:
        super().__init__("Attached", "Esc goes back · d removes · i inserts into the text")
        self.chips = chips

    def on_mount(self) -> None:
        """Show the newest."""
        self._list(len(self.chips) - 1)
        self.list.focus()

    def _list(self, highlighted: int) -> None:
        rows = [
            ((safe(chip.attachment.name), "bold"), (f"  {chip.about}", "$text-muted"))
            for chip in self.chips
        ]
        self.list.set_options([Option(Content.assemble(*row)) for row in rows])
        self.list.highlighted = min(highlighted, len(self.chips) - 1)

    @on(OptionList.OptionHighlighted)
    def show_text(self, message: OptionList.OptionHighlighted) -> None:
        """Show the text under the cursor."""
        text = self.chips[message.option_index].attachment.text
        more = len(text) - PREVIEW
        rest = (f"\n\n… and {counted(more, 'character')} more", "$text-muted") if more > 0 else ""
        self.tell(Content.assemble(safe(text[:PREVIEW]), rest))

    @property
    def _chosen(self) -> int:
        return self.list.highlighted or 0

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
