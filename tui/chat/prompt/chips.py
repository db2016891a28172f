"""What will go along with the prompt, in a row above it."""

from dataclasses import dataclass, replace

from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from assistant.attachment import Attachment
from tui.chat.prompt.chip import GAP, Chip, drawn, packed


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
