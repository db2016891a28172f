"""The attachments of the prompt: in a row above it, and in a list with their texts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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

from assistant.session.attachments import LIMIT
from assistant.store.values import Attachment
from tui.figures import counted, weight
from tui.safe import safe
from tui.widgets.dialog import ListDialog

GAP = "  "
EDITABLE = 20_000
"""Characters above which a text is slow to edit; as an attachment it is not."""

COUNTED = 400_000
"""Characters above which tokens are only estimated: counting them would hold up answers."""
PASTED = "pasted text"
CHARACTERS_PER_TOKEN = 4
"""Characters per token, on average, in English text and in code."""


@dataclass(frozen=True, slots=True)
class Chip:
    """An attachment and what is known of it."""

    label: str  # its own, also among attachments of one name
    attachment: Attachment
    size: str
    tokens: int
    counted: bool = False  # by the model that will read it; otherwise `tokens` is a guess

    @classmethod
    def of(cls, label: str, attachment: Attachment) -> "Chip":
        """Return the chip of an attachment whose tokens are not counted yet."""
        text = attachment.text
        return cls(label, attachment, weight(text), estimated_tokens(text))

    @property
    def about(self) -> str:
        """How much it is."""
        if self.attachment.is_folder:
            return "asked about"
        return f"{self.size} · {'' if self.counted else '≈ '}{counted(self.tokens, 'token')}"


class PromptAttachments(Widget):
    """The attachments with their sizes, as many to a line as fit."""

    DEFAULT_CSS = "PromptAttachments { height: auto; display: none; }"

    chips: reactive[tuple[Chip, ...]] = reactive[tuple[Chip, ...]]((), layout=True)

    class Changed(Message):
        """An attachment came, went or was counted."""

    @dataclass
    class CountWanted(Message):
        """A text was attached whose tokens should be counted; `counted` takes the answer."""

        label: str
        text: str

    _ever = 0  # attached, to tell attachments of one name apart

    def watch_chips(self, chips: tuple[Chip, ...]) -> None:
        """Take no room without a chip."""
        self.display = bool(chips)
        self.post_message(self.Changed())

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """What the chips stand for."""
        return tuple(chip.attachment for chip in self.chips)

    @property
    def says(self) -> bool:
        """Whether there is more than folders, which say nothing without a question."""
        return not all(attachment.is_folder for attachment in self.attachments)

    @property
    def tokens(self) -> int:
        """About how many tokens they have together."""
        return sum(chip.tokens for chip in self.chips)

    def sent(self) -> None:
        """Drop what is sent; the next question is about the same folders."""
        self.chips = tuple(chip for chip in self.chips if chip.attachment.is_folder)

    def add(self, attachment: Attachment) -> None:
        """Add an attachment; one of the same name gives way."""
        self._ever += 1
        chip = Chip.of(f"attachment {self._ever}", attachment)
        others = [other for other in self.chips if other.attachment.name != attachment.name]
        self.chips = (*others, chip)
        self.call_next(self._want_count, chip)  # the prompt must not count as the sender

    def add_pasted(self, text: str) -> None:
        """Add a text that has no name."""
        if len(text) > LIMIT:
            what = f"The paste has {len(text):,} characters; {LIMIT:,} fit. "
            hint = "Save it as a file and attach a part of it."
            self.notify(what + hint, severity="warning", timeout=8, markup=False)
            return
        names = {attachment.name for attachment in self.attachments}
        numbered = (f"{PASTED} {number}" for number in range(2, len(names) + 3))
        name = next(name for name in (PASTED, *numbered) if name not in names)
        self.add(Attachment(name, text))

    def drop_last(self) -> None:
        """Attach the newest no more."""
        self.chips = self.chips[:-1]

    def recount(self) -> None:
        """Have the tokens counted again, because another model will read them."""
        self.chips = tuple(Chip.of(chip.label, chip.attachment) for chip in self.chips)
        for chip in self.chips:
            self.call_next(self._want_count, chip)

    def counted(self, label: str, tokens: int) -> None:
        """Show how many tokens an attachment really has."""
        self.chips = tuple(
            replace(chip, tokens=tokens, counted=True) if chip.label == label else chip
            for chip in self.chips
        )

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return how many lines the chips need."""
        return len(self._lines(width))

    def render(self) -> Content:
        """Draw the chips."""
        lines = self._lines(self.content_size.width)
        return Content("\n").join(Content(GAP).join(line) for line in lines)

    def _lines(self, width: int) -> list[list[Content]]:
        return packed([drawn(chip, width) for chip in self.chips], width)

    def _want_count(self, chip: Chip) -> None:
        if 0 < len(chip.attachment.text) <= COUNTED:
            self.post_message(self.CountWanted(chip.label, chip.attachment.text))


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has, at once and without a model."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def packed(cells: Sequence[Content], width: int) -> list[list[Content]]:
    """Fill one line after another."""
    lines: list[list[Content]] = []
    room = 0
    for cell in cells:
        needed = len(GAP) + cell.cell_length
        if not lines or needed > room:
            lines.append([])
            room = width + len(GAP)
        lines[-1].append(cell)
        room -= needed
    return lines


def drawn(chip: Chip, width: int) -> Content:
    """Return a chip that is no wider than `width`; the start of a long name gives way."""
    about = f" {chip.about} "
    name = " ".join(safe(chip.attachment.name).split())
    room = max(8, width - cell_len(about) - 2)
    if cell_len(name) > room:
        while cell_len(name) >= room:
            name = name[1:]
        name = f"…{name}"
    whole = Content.assemble(
        (f" {name} ", "bold $text on $panel"), (about, "$foreground-muted on $panel")
    )
    return whole.truncate(max(1, width), ellipsis=True)


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
