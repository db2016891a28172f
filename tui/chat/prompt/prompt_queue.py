"""The queue of prompts that were sent while an answer was under way."""

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from assistant.session.unsent_text import Unsent
from tui.safe import one_line


class PromptQueue(Widget):
    """Show the keys that work on queued prompts, then each prompt in a row."""

    DEFAULT_CSS = """
    PromptQueue {
        height: auto; max-height: 5; display: none; color: $text-muted;
        text-wrap: nowrap; text-overflow: ellipsis;
    }
    """

    prompts: reactive[tuple[Unsent, ...]] = reactive[tuple[Unsent, ...]]((), layout=True)
    paused: reactive[bool] = reactive(True)
    """Whether the next prompt waits for Enter, because no answer is under way."""

    def watch_prompts(self) -> None:
        """Hide the queue while it is empty."""
        self.display = bool(self.prompts)

    def render(self) -> Content:
        """Draw the lines."""
        sends = " · Enter sends the next" if self.paused else ""
        lines = [f"{len(self.prompts)} queued{sends} · ↑ to edit"]
        for prompt in self.prompts:
            files = "".join(f" @{file.name}" for file in prompt.attachments)
            lines.append(f"  {one_line(prompt.text.strip() + files)}")
        return Content("\n".join(lines))
