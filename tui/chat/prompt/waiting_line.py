"""Prompts that wait in line for their turn, which comes when the answer under way has ended."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

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


def to_json(unsent: Unsent, line: Iterable[Unsent] = ()) -> str:
    """Return what is being written, and what waits in line, as JSON."""
    attachments, waiting = _attachments_json(unsent.attachments), map(to_json, line)
    text = f'"text": {json.dumps(unsent.text)}, "attachments": {attachments}'
    return f'{{{text}, "line": [{", ".join(waiting)}]}}'


def from_json(state: str) -> tuple[Unsent, tuple[Unsent, ...]]:
    """Return what `to_json` wrote; empty if it is invalid."""
    try:
        unsent = json.loads(state)
        return _unsent(unsent), tuple(map(_unsent, unsent.get("line", ())))
    except (ValueError, TypeError, KeyError, AttributeError):
        return Unsent(""), ()


def _unsent(found: Any) -> Unsent:
    attached = tuple(Attachment(str(name), str(text)) for name, text in found["attachments"])
    return Unsent(str(found["text"]), attached)


@lru_cache(maxsize=9)  # megabytes that stay the same while the text changes
def _attachments_json(attachments: tuple[Attachment, ...]) -> str:
    return json.dumps([[attachment.name, attachment.text] for attachment in attachments])
