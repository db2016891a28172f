"""Prompts that wait in line for their turn, which comes when the answer under way has ended."""

from dataclasses import dataclass

from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from assistant.store.values import Attachment
from tui.safe import one_line


@dataclass(frozen=True, slots=True)
class Unsent:
    """What was written, and what is to go along with it."""

    text: str
    attachments: tuple[Attachment, ...] = ()


class WaitingLine(Widget):
    """Say what happens to them and with which keys, then show a row of each."""

    DEFAULT_CSS = """
    WaitingLine { height: auto; max-height: 5; display: none; color: $text-muted; }
    """

    prompts: reactive[tuple[Unsent, ...]] = reactive[tuple[Unsent, ...]]((), layout=True)
    held: reactive[bool] = reactive(True)
    """Whether nothing is under way after which the next would be sent."""

    def watch_prompts(self) -> None:
        """Take no room without one."""
        self.display = bool(self.prompts)

    def add(self, unsent: Unsent) -> None:
        """Have a prompt wait after the others."""
        self.prompts = (*self.prompts, unsent)

    def take(self, place: int) -> Unsent:
        """Return the prompt in a place, and let the others wait on."""
        prompts = list(self.prompts)
        taken = prompts.pop(place)
        self.prompts = tuple(prompts)
        return taken

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return how many lines there are."""
        return 1 + len(self.prompts)

    def render(self) -> Content:
        """Draw the lines, each cut to the width."""
        sends = " · Enter sends the next" * self.held
        lines = [f"{len(self.prompts)} in line{sends} · ↑ edits the last"]
        for each in self.prompts:
            files = "".join(f" @{file.name}" for file in each.attachments)
            lines.append(f"  {one_line(each.text.strip() + files)}")
        width = max(1, self.content_size.width)
        return Content("\n").join(Content(line).truncate(width, ellipsis=True) for line in lines)
