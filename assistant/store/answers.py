"""The answers of all conversations, for looking back at."""

from collections.abc import Iterator
from dataclasses import dataclass

from assistant.events import Stats
from assistant.store.database import Database
from assistant.store.rows import unpack_stats

_PAGE = 256
_ANSWERS = """SELECT message.id, message.created, model, content, stats
    FROM message JOIN conversation ON conversation.id = conversation
    WHERE message.id > ? AND role = 'assistant' AND stats IS NOT NULL
        AND hidden IS NULL AND deleted IS NULL
    ORDER BY message.id LIMIT ?"""


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A stored answer and its figures."""

    created: float  # seconds since 1970
    model: str  # the target
    content: str
    stats: Stats


class Answers:
    """What the store can do with answers, whatever their conversation."""

    _database: Database

    def answers(self) -> Iterator[StoredAnswer]:
        """Yield the answers that have figures, oldest first, a few at a time."""
        last = 0
        while True:
            with self._database.reading() as sql:
                rows = sql.execute(_ANSWERS, (last, _PAGE)).fetchall()
            for id_, created, model, content, packed in rows:
                last = id_
                if (stats := unpack_stats(packed)) is not None:
                    yield StoredAnswer(created, model, content, stats)
            if not rows:
                return
