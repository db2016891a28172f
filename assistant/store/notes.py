"""Small texts beside the conversations, such as input that was not sent."""

from assistant.store.database import Database, storable

UNSENT = "unfinished"
TO_CONVERSATION, TO_MESSAGE = "unfinished, conversation ", "unfinished, message "
"""How the names of unsent texts begin, before the number of what they belong to."""


class Notes:
    """What the store can do with notes."""

    _database: Database

    def remember(self, key: str, value: str) -> None:
        """Keep a small text in the place of the one before."""
        with self._database.writing() as sql:
            sql.execute(
                "INSERT INTO note VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = ?2",
                (key, storable(value)),
            )

    def recall(self, key: str) -> str | None:
        """Return the small text that was kept last."""
        with self._database.reading() as sql:
            row = sql.execute("SELECT value FROM note WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])


def unsent(conversation: int | None, message: int | None) -> str:
    """Return the name of the note for what was not sent to a conversation, or in a message's place.

    It goes for good when the conversation or the message does.
    """
    if message is not None:
        return f"{TO_MESSAGE}{message}"
    return UNSENT if conversation is None else f"{TO_CONVERSATION}{conversation}"
