"""What will go along with the prompt, in a row above it: each with its name, size and tokens."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from assistant.attachment import Attachment
from tui.chat.prompt.attachments import estimated_tokens, weight
from tui.safe import safe

GAP = "  "


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
        """Return the chip of an attachment whose tokens nobody has counted yet."""
        text = attachment.text
        return cls(label, attachment, weight(text), estimated_tokens(text))

    @property
    def about(self) -> str:
        """How much it is."""
        return f"{self.size} · {said(self.tokens, self.counted)}"


def said(tokens: int, counted: bool) -> str:
    """Return a number of tokens, and whether it was only guessed."""
    return f"{'' if counted else '≈ '}{tokens:,} token{'s' * (tokens != 1)}"


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
        (f" {name} ", "bold $text on $panel"), (about, "$text-muted on $panel")
    )
    return whole.truncate(max(1, width), ellipsis=True)


class Chips(Widget):
    """The attachments with their sizes, as many to a line as fit."""

    DEFAULT_CSS = """
    Chips {
        height: auto;
        display: none;
    }
    """

    chips: reactive[tuple[Chip, ...]] = reactive[tuple[Chip, ...]]((), layout=True)

    class Changed(Message):
        """An attachment came, went or was counted."""

    @dataclass
    class Uncounted(Message):
        """A chip came whose tokens nobody has counted."""

        chip: Chip

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
    def tokens(self) -> int:
        """About how many tokens they have together."""
        return sum(chip.tokens for chip in self.chips)

    def add(self, attachment: Attachment) -> None:
        """Add an attachment; one of the same name gives way."""
        self._ever += 1
        chip = Chip.of(f"attachment {self._ever}", attachment)
        others = [other for other in self.chips if other.attachment.name != attachment.name]
        self.chips = (*others, chip)
        self.post_message(self.Uncounted(chip))

    def recount(self) -> None:
        """Have the tokens counted again, because another model will read them."""
        self.chips = tuple(Chip.of(chip.label, chip.attachment) for chip in self.chips)
        for chip in self.chips:
            self.post_message(self.Uncounted(chip))

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
