"""A conversation from one store into another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assistant.store import Record, Store


def copied(path: Sequence[Record], system: str, store: Store) -> tuple[int, dict[int, Record]]:
    """Copy a path into `store`; return its conversation, and the new records by the old ids."""
    conversation = store.begin(system=system)
    records: dict[int, Record] = {}
    parent: int | None = None
    for record in path:
        records[record.id] = _copied(record, parent, conversation, store)
        parent = records[record.id].id
    return conversation, records


def _copied(record: Record, parent: int | None, conversation: int, store: Store) -> Record:
    if record.role == "user" or parent is None:
        return store.ask(conversation, parent, record.content, record.attachments)
    new = store.answer(conversation, parent, record.model)
    if record.state == "streaming":
        return new
    ids, stats, stop = record.token_ids, record.stats, record.stop
    return store.end(new.id, record.content, ids, (), stats, stop, record.state)
