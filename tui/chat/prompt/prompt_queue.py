"""The queue of prompts that were sent while an answer was under way."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from assistant.store.values import Attachment
from tui.safe import one_line


@dataclass(frozen=True, slots=True)
class Unsent:
    """A prompt that was not sent to the model yet: its text and its attachments."""

    text: str
    attachments: tuple[Attachment, ...] = ()


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
    """Whether no answer is under way at whose end the next prompt is sent."""

    def watch_prompts(self) -> None:
        """Hide the queue while it is empty."""
        self.display = bool(self.prompts)

    def add(self, unsent: Unsent) -> None:
        """Append a prompt."""
        self.prompts = (*self.prompts, unsent)

    def pop(self, index: int) -> Unsent:
        """Remove the prompt at an index, and return it."""
        prompts = list(self.prompts)
        unsent = prompts.pop(index)
        self.prompts = tuple(prompts)
        return unsent

    def render(self) -> Content:
        """Draw the lines."""
        sends = " · Enter sends the next" * self.paused
        lines = [f"{len(self.prompts)} queued{sends} · ↑ to edit"]
        for prompt in self.prompts:
            files = "".join(f" @{file.name}" for file in prompt.attachments)
            lines.append(f"  {one_line(prompt.text.strip() + files)}")
        return Content("\n".join(lines))


def to_json(unsent: Unsent, queue: Iterable[Unsent] = ()) -> str:
    """Return the text being typed and the queue as JSON."""
    attachments, waiting = _attachments_json(unsent.attachments), map(to_json, queue)
    text = f'"text": {json.dumps(unsent.text)}, "attachments": {attachments}'
    return f'{{{text}, "line": [{", ".join(waiting)}]}}'


def from_json(state: str) -> tuple[Unsent, tuple[Unsent, ...]]:
    """Return the text and the queue from the JSON of `to_json`; empty if it is invalid."""
    try:
        unsent = json.loads(state)
        return _unsent(unsent), tuple(map(_unsent, unsent.get("line", ())))
    except (ValueError, TypeError, KeyError, AttributeError):
        return Unsent(""), ()


def _unsent(fields: Any) -> Unsent:
    attached = tuple(Attachment(str(name), str(text)) for name, text in fields["attachments"])
    return Unsent(str(fields["text"]), attached)


@lru_cache(maxsize=9)  # megabytes that stay the same while the text changes
def _attachments_json(attachments: tuple[Attachment, ...]) -> str:
    return json.dumps([[attachment.name, attachment.text] for attachment in attachments])
