"""The store of conversations: SQLite in one file, nothing lost, nothing left behind."""

from pathlib import Path

from assistant.store import backups
from assistant.store.answers import Answers
from assistant.store.branches import Branches
from assistant.store.conversations import Conversations
from assistant.store.messages import Messages
from assistant.store.notes import Notes
from assistant.store.opening import in_memory, on_disk
from assistant.store.purging import purge
from assistant.store.sharing import Sharing
from assistant.store.transfer import Wholes
from assistant.tokens import Trace


class Store(Conversations, Messages, Branches, Notes, Wholes, Answers, Sharing):
    """Conversations on disk, or in memory for as long as the program runs.

    Every method is short and may be called from any thread; what it changed is on disk when it
    returns. Any number of instances may use one file at once.
    """

    def __init__(self, path: Path | None) -> None:
        """Open the store, or make it; `path` None keeps it in memory.

        A damaged file is moved aside and replaced by the newest good backup, which `notice` then
        says. StorageError: the file cannot be used, and is left as it is.
        """
        opened = in_memory() if path is None else on_disk(path)
        self.notice: str | None = opened.notice
        self._database = opened.database
        self._presence = opened.presence
        self._owner = opened.presence.id if opened.presence else None
        self._streamed: dict[int, Trace] = {}

    @property
    def saves(self) -> bool:
        """Whether what is written outlives the program."""
        return self._presence is not None

    def back_up(self, older_than_s: float = 86_400.0) -> Path | None:
        """Back up the database, unless the newest backup is younger than that.

        It reads the whole file twice: call it from a thread. None: there was nothing to do.
        StorageError: the database is damaged, and the next start mends it.
        """
        path = self._database.path
        if path is None or not self.saves or backups.age(path) < older_than_s:
            return None
        return backups.back_up(path)

    def purge(self, conversation: int | None = None) -> None:
        """Remove what was deleted and dropped for good, or one deleted conversation.

        Its text is then in no part of the file; a new backup replaces those that still held it.
        What another instance has open is left to that one.
        """
        purge(self._database, conversation, self._presence)

    def close(self) -> None:
        """Close the store."""
        self._database.close()
        if self._presence:
            self._presence.close()
