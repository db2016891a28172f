"""An attachment in the row above the prompt, with its name, size and tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.content import Content

from assistant.store.values import Attachment
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
        """Return the chip of an attachment whose tokens are not counted yet."""
        text = attachment.text
        return cls(label, attachment, weight(text), estimated_tokens(text))

    @property
    def about(self) -> str:
        """How much it is."""
        return f"{self.size} · {said(self.tokens, self.counted)}"


def said(tokens: int, counted: bool) -> str:
    """Return a number of tokens, and whether it is an estimate."""
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
