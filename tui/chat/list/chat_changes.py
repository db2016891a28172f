"""What is done to a conversation of the list: the news of it, and the export."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from models.errors import StorageError

if TYPE_CHECKING:
    from assistant.store.store import Store
    from assistant.store.values import ChatSummary


@dataclass
class Deleted(Message):
    """A conversation was deleted; it can be brought back."""

    id: int


@dataclass
class Restored(Message):
    """A deleted conversation is back."""

    id: int


def export(store: "Store", summary: "ChatSummary", folder: Path) -> Path:
    """Write a new file that is named after the title; none is ever overwritten.

    Raises:
        StorageError: it cannot be written, or the conversation cannot be read.
    """
    from assistant.store.exports import markdown  # on a thread, after the first paint

    text = markdown(store.whole(summary.id))
    words = "".join(letter if letter.isalnum() else " " for letter in summary.title).split()
    stem, number = "-".join(words)[:60].lower() or "conversation", 1
    while True:
        path = folder / (f"{stem}.md" if number == 1 else f"{stem}-{number}.md")
        try:
            with path.open("x", encoding="utf-8", errors="replace") as file:
                file.write(text)
            return path
        except FileExistsError:
            number += 1
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageError(
                f"Cannot write into {folder}: {reason}. Choose another name."
            ) from error
