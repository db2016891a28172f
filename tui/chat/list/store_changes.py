"""Changes of a stored conversation, each on a thread, and the news that it is done."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from models.errors import StorageError

if TYPE_CHECKING:
    from assistant.store import Store


@dataclass
class News(Message):
    """Conversation `id` has changed; `text` says how, if the user should know."""

    id: int
    text: str = ""


class Deleted(News):
    """A conversation was deleted; it can be brought back."""


class Restored(News):
    """A deleted conversation is back."""


class Changes:
    """Change conversations in the store; what was deleted comes back in reverse order."""

    def __init__(self, store: "Store") -> None:
        self._store = store
        self.deleted: list[int] = []

    async def rename(self, id_: int, title: str) -> News:
        """Give a conversation another title."""
        await asyncio.to_thread(self._store.rename, id_, title)
        return News(id_)

    async def pin(self, id_: int, pinned: bool) -> News:
        """Pin or unpin a conversation."""
        await asyncio.to_thread(self._store.pin, id_, pinned)
        return News(id_)

    async def delete(self, id_: int) -> News:
        """Delete a conversation, so that it can be brought back."""
        await asyncio.to_thread(self._store.delete, id_)
        self.deleted.append(id_)
        return Deleted(id_, "Deleted. u brings it back.")

    async def undo(self) -> News:
        """Bring back what was deleted last."""
        await asyncio.to_thread(self._store.undelete, self.deleted[-1])
        return Restored(self.deleted.pop(), "It is back.")

    async def export(self, id_: int, title: str, folder: Path) -> News:
        """Write a conversation as Markdown into a folder."""
        path = await asyncio.to_thread(self._export, id_, title, folder)
        return News(id_, f"Written to {path}.")

    def _export(self, id_: int, title: str, folder: Path) -> Path:
        from assistant.store.markdown import markdown  # on a thread, after the first paint

        text = markdown(self._store.whole(id_))
        try:
            return _write(folder, title, text)
        except OSError as error:
            reason = error.strerror or str(error)
            raise StorageError(
                f"Cannot write into {folder}: {reason}. Choose another name."
            ) from error


def _write(folder: Path, title: str, text: str) -> Path:
    """Write a new file that is named after the title; none is ever overwritten."""
    words = "".join(letter if letter.isalnum() else " " for letter in title).split()
    stem, number = "-".join(words)[:60].lower() or "conversation", 1
    while True:
        path = folder / (f"{stem}.md" if number == 1 else f"{stem}-{number}.md")
        try:
            with path.open("x", encoding="utf-8", errors="replace") as file:
                file.write(text)
            return path
        except FileExistsError:
            number += 1
