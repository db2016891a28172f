"""The attachments of the prompt: as chips above it, and on a screen with their texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from assistant.events import Event, TokenCount
from assistant.request import CountTokens
from assistant.session.attachments import ReadingLimits, pasted_text
from assistant.session.messages import tokens
from assistant.store.values import Attachment
from models.errors import UsageError
from tui.formatting import duration
from tui.labels import byte_size, plural
from tui.reading import NOT_FIT
from tui.safe import safe
from tui.widgets.dialog import ListDialog

GAP = "  "
EDITABLE = 20_000
"""Characters above which a text area is slow, so that a text becomes an attachment."""

COUNTED = 400_000
"""Characters above which tokens are only estimated: counting them would delay answers."""


@dataclass(frozen=True, slots=True)
class Chip:
    """An attachment with its size and tokens."""

    attachment: Attachment
    size: str
    tokens: int
    counted: bool = False  # by the loaded model; otherwise `tokens` is an estimate
    insists: bool = False  # whether the user wants it to be read as a whole
    too_long_s: float = 0.0  # time to read it, where passages are read instead; inf: does not fit

    @property
    def sent(self) -> Attachment:
        """The attachment as it belongs to the question."""
        return self.attachment.by_passages if self.too_long_s else self.attachment

    @property
    def about(self) -> str:
        """The size and the tokens, as text."""
        if self.too_long_s == inf:
            return f"by passages that fit the question; all of it {NOT_FIT}"
        if self.too_long_s:
            return f"by passages; Ctrl+L w reads all of it in {duration(self.too_long_s)}"
        if self.attachment.is_folder:
            return "searched for answers"
        return f"{self.size} · {'' if self.counted else '≈ '}{plural(self.tokens, 'token')}"


class PromptAttachments(Widget):
    """The attachments with their sizes, as many to a line as fit."""

    DEFAULT_CSS = "PromptAttachments { height: auto; display: none; }"

    chips: reactive[tuple[Chip, ...]] = reactive[tuple[Chip, ...]]((), layout=True)
    limits: reactive[ReadingLimits] = reactive(ReadingLimits(), init=False)
    """The limits of the loaded models."""

    class Changed(Message):
        """An attachment was added, removed or counted."""

    submit: Callable[[CountTokens, Callable[[Event], None]], object] | None = None
    """Has the engine count tokens, once a model is loaded."""

    def validate_chips(self, chips: tuple[Chip, ...]) -> tuple[Chip, ...]:
        """Mark texts of which only passages are read: they take too long, or do not fit."""
        excess = self.limits.excess((chip.tokens, chip.insists) for chip in chips)
        return tuple(
            replace(chip, too_long_s=long_s) for chip, long_s in zip(chips, excess, strict=True)
        )

    def watch_limits(self) -> None:
        """Decide again which texts are read as a whole."""
        self.mutate_reactive(PromptAttachments.chips)

    def watch_chips(self, chips: tuple[Chip, ...]) -> None:
        """Hide the widget without a chip."""
        self.display = bool(chips)
        self.post_message(self.Changed())

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """The attachments as they belong to the question."""
        return tuple(chip.sent for chip in self.chips)

    @property
    def has_content(self) -> bool:
        """Whether anything but folders is attached: these are no prompt without a question."""
        return not all(attachment.is_folder for attachment in self.attachments)

    @property
    def tokens(self) -> int:
        """The sum of the tokens to be read, of some an estimate."""
        return sum(chip.tokens for chip in self.chips if not chip.too_long_s)

    def add(self, attachment: Attachment) -> None:
        """Add an attachment, which replaces one of the same name."""
        whole = attachment.whole
        chip = Chip(whole, byte_size(whole.text), tokens(whole.text))
        others = [other for other in self.chips if other.attachment.name != whole.name]
        self.chips = (*others, chip)
        self._request_count(chip)

    def add_pasted(self, text: str) -> None:
        """Add a text that has no name."""
        try:
            self.add(pasted_text(text, self.attachments))
        except UsageError as error:
            self.notify(str(error), severity="warning", timeout=8)

    def recount(self) -> None:
        """Have the tokens counted again, because another model will read them."""
        self.chips = tuple(
            replace(chip, tokens=tokens(chip.attachment.text), counted=False) for chip in self.chips
        )
        for chip in self.chips:
            self._request_count(chip)

    def show_count(self, attachment: Attachment, event: Event) -> None:
        """Show the counted tokens of an attachment."""
        if isinstance(event, TokenCount):
            for at, chip in enumerate(self.chips):
                if chip.attachment is attachment:
                    chip = replace(chip, tokens=event.tokens, counted=True)
                    self.chips = (*self.chips[:at], chip, *self.chips[at + 1 :])

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines that the chips need."""
        return len(self._lines(width))

    def render(self) -> Content:
        """Draw the chips."""
        return Content("\n").join(self._lines(self.content_size.width))

    def _lines(self, width: int) -> list[Content]:
        return pack([drawn(chip, width) for chip in self.chips], width)

    def _request_count(self, chip: Chip) -> None:
        attachment = chip.attachment
        if self.submit is not None and 0 < len(attachment.text) <= COUNTED:
            self.submit(CountTokens(attachment.text), partial(self.show_count, attachment))


def pack(cells: Sequence[Content], width: int) -> list[Content]:
    """Distribute cells over lines of a width."""
    lines: list[Content] = []
    for cell in cells:
        if lines and lines[-1].cell_length + len(GAP) + cell.cell_length <= width:
            lines[-1] += Content.assemble(GAP, cell)
        else:
            lines.append(cell)
    return lines


def drawn(chip: Chip, width: int) -> Content:
    """Return a chip of at most `width` cells; a long name loses its start."""
    about = f" {chip.about} "
    name = " ".join(safe(chip.attachment.name).split())
    available = max(8, width - cell_len(about) - 2)
    if cell_len(name) > available:
        while cell_len(name) >= available:
            name = name[1:]
        name = f"…{name}"
    return Content.assemble(
        (f" {name} ", "bold $text on $panel"), (about, "$foreground-muted on $panel")
    ).truncate(max(1, width), ellipsis=True)


PREVIEW = 20_000
"""Characters of an attachment that are shown."""


class AttachmentsScreen(ListDialog[str]):
    """List the attachments above the text of the one under the cursor.

    It returns the text of an attachment that is inserted into the prompt instead.
    """

    DEFAULT_CSS = "AttachmentsScreen OptionList { max-height: 6; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", id="attachments.close"),
        Binding("delete,d", "drop", "Remove", id="attachments.drop"),
        Binding("backspace", "drop"),
        Binding("i", "insert", "Insert into the text", id="attachments.insert"),
        Binding("w", "whole", "Read all of it", id="attachments.whole"),
        Binding("space", "scroll(1)", "Scroll down", priority=True),
    ]

    def __init__(self, attached: PromptAttachments) -> None:
        super().__init__("Attached", "Esc goes back · d removes · i inserts")
        self._attached = attached

    def on_mount(self) -> None:
        """Select the newest."""
        self.watch(self._attached, "chips", self._list)
        self.list.highlighted = len(self._attached.chips) - 1

    def _list(self, chips: tuple[Chip, ...]) -> None:
        """List the attachments, the cursor on the same one."""
        names, index = [chip.attachment.name for chip in chips], self.list.highlighted or 0
        name = self.list.highlighted_option.id if self.list.highlighted_option else None
        self.list.clear_options()
        for chip in chips:
            row = (safe(chip.attachment.name), "bold"), (f"  {chip.about}", "$text-muted")
            self.list.add_option(Option(Content.assemble(*row), chip.attachment.name))
        self.list.highlighted = names.index(name) if name in names else min(index, len(names) - 1)

    @on(OptionList.OptionHighlighted)
    def _show_text(self) -> None:
        text = "".join(chip.attachment.text for chip in self._chosen)
        more = len(text) - PREVIEW
        rest = (f"\n\n… and {plural(more, 'character')} more", "$text-muted") if more > 0 else ""
        keys = " · w reads all of it" if self.check_action("whole", ()) else ""
        self.show_detail(Content.assemble(safe(text[:PREVIEW]), rest), keys)

    @property
    def _chosen(self) -> tuple[Chip, ...]:
        """The attachment under the cursor."""
        at = self.list.highlighted
        return () if at is None else self._attached.chips[at : at + 1]

    @property
    def _others(self) -> tuple[Chip, ...]:
        return tuple(chip for chip in self._attached.chips if chip not in self._chosen)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to read all of a text of which only passages would be read."""
        return action != "whole" or any(0 < chip.too_long_s < inf for chip in self._chosen)

    def action_drop(self) -> None:
        """Remove the attachment under the cursor."""
        self._attached.chips = self._others
        if not self._attached.chips:
            self.dismiss()

    def action_whole(self) -> None:
        """Read all of a text of which only passages would be read."""
        chosen, chips = self._chosen, self._attached.chips
        insisted = (replace(chip, insists=chip in chosen or chip.insists) for chip in chips)
        self._attached.chips = tuple(insisted)

    @on(OptionList.OptionSelected)
    def action_insert(self) -> None:
        """Insert its text at the cursor of the prompt, unless it is too long to edit."""
        text = "".join(chip.attachment.text for chip in self._chosen)
        if len(text) > EDITABLE:
            reason = f"{len(text):,} characters are too many to edit; the limit is {EDITABLE:,}."
            self.notify(reason, severity="warning", timeout=6)
        else:
            self._attached.chips = self._others
            self.dismiss(text)
