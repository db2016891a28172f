"""The turns between the answers: the user's messages and the app's notes."""

from collections.abc import Sequence
from typing import Literal

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from assistant.store.values import Attachment, StoredMessage
from tui.chat.conversation.turn import Turn, Verb
from tui.labels import byte_size
from tui.safe import one_line, safe
from tui.text.text_view import TextView, whole

SHOWN = 3000
"""Characters of a turn that are shown; a pasted book would make every layout slow."""


class UserTurn(Turn):
    """Show a message of the user's."""

    DEFAULT_CSS = """
    UserTurn { border-left: outer $primary; background: $boost; }
    UserTurn > TextView { height: auto; text-style: bold; }
    UserTurn > .chips { height: auto; color: $text-muted; }
    UserTurn.waiting { border-left: outer $warning; }
    UserTurn.waiting > TextView { color: $text-muted; text-style: none; }
    UserTurn:focus { border-left: thick $accent; }
    """

    def __init__(self, record: StoredMessage) -> None:
        super().__init__("You", record)
        self.text = record.content
        self._shown = TextView(growing=False, formatted=False)
        self._shown.show([whole(shorten(record.content))])
        self._chips = Static(classes="chips", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the head, the text and the attached files."""
        yield from super().compose()
        yield self._shown
        yield self._chips

    def watch_record(self) -> None:
        """Show the attached files, and the passages that were found since."""
        super().watch_record()
        attached = self.record.attachments if self.record else ()
        self._chips.display = bool(attached)
        self._chips.update(chips(attached))

    @property
    def busy(self) -> bool:
        """Whether it waits to be sent."""
        return self.has_class("waiting")

    def offers(self, verb: Verb) -> bool:
        """Return whether there is something to do for the verb."""
        return not self.busy if verb == "edit" else super().offers(verb)


class Note(Static):
    """Show a sentence of the app's own between the turns."""

    DEFAULT_CSS = """
    Note {
        height: auto; max-width: 120; margin: 0 0 1 0; padding: 0 1;
        border-left: outer $secondary; color: $text-muted;
        &.warning { border-left: outer $warning; color: $text-warning; }
        &.error { border-left: outer $error; color: $text-error; }
    }
    """

    def __init__(self, text: str, kind: Literal["info", "warning", "error"] = "info") -> None:
        super().__init__(safe(text), classes=f"note {kind}", markup=False)


def chips(attachments: Sequence[Attachment]) -> Content:
    """Return the attached files, with an @ as they are typed, and the passages that were found."""
    names = [f" @{one_line(e.title)}{_size(e)} " for e in attachments if not e.number]
    titles = [one_line(file.title) for file in attachments if file.number]
    attached = [Content.styled(name, "$foreground on $panel") for name in names]
    return Content("  ").join([*attached, *map(Content, titles)])


def _size(attachment: Attachment) -> str:
    return "" if attachment.is_folder else f" · {byte_size(attachment.text)}"


def shorten(text: str) -> str:
    """Return a text, without its middle if it is very long."""
    if len(text) <= SHOWN:
        return text
    head, tail = text[: SHOWN * 2 // 3], text[-SHOWN // 3 :]
    return f"{head}\n⋯ {len(text) - len(head) - len(tail):,} characters not shown ⋯\n{tail}"
