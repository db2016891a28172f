"""Conversations with traces and figures, to fill a store with."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from assistant.events import Alternative, Origin, RejectedToken, Stats, Step, Tally, Token, Trace
from assistant.store.database import transaction
from assistant.store.store import Store
from assistant.store.values import StoredMessage
from tests.stored import ask, begin, end

TOP = (Alternative(7, " the", 0.5), Alternative(8, "é", 0.25))
STATS = Stats(
    "sps", rounds=2, tested=3, accepted=2, lookahead_counts={0: 1, 3: 1},
    positions=(Tally(1, 1), Tally(2, 1)), sources={"model": Tally(3, 2)},
)  # fmt: skip
open_stores: list[Store] = []


def opened(path: Path | None = None) -> Store:
    """A store that is closed at the end of the test, if it was not before."""
    open_stores.append(Store(path))
    return open_stores[-1]


def step(number: int, text: str = " word") -> Step:
    """A round with a token of every origin and part, and both kinds of rejected."""
    drafted = Token(number, text, Origin.DRAFT, "model", 0.3, 0.2, 0, 0.1, TOP, TOP[:1])
    residual = Token(number + 1, "!", Origin.RESIDUAL, "ngram", 1e-300, 0.7, 1, 0.99, TOP)
    thought = replace(drafted, part="thought")
    target = Token(number + 2, "\n", Origin.TARGET, None, 1.0, None, part="marker")
    tested = RejectedToken(4, " cat", "model", 1, 0.9, 0.05, 0.6)
    untested = RejectedToken(5, "", "model", 2, 0.9, None, None)
    return Step((thought, residual, target), (tested, untested))


def trace(steps: int) -> Trace:
    return tuple(step(number) for number in range(steps))


def talk(store: Store, *prompts: str, parent: int | None = None) -> tuple[int, list[StoredMessage]]:
    """A conversation of prompts and their answers."""
    conversation, records = store.create(system="Be brief."), []
    for prompt in prompts:
        records.append(ask(store, conversation, parent, prompt))
        answer = begin(store, conversation, records[-1].id, "tiny").id
        more = {"token_ids": (1, 2), "stats": STATS, "stop": "stop-token"}
        records.append(end(store, answer, f"Answer to {prompt}", trace(2), **more))
        parent = records[-1].id
    return conversation, records


def fill(store: Store, count: int, text: str) -> int:
    """A conversation of that many messages in a row, the fast way; each has its number in it."""
    conversation = store.create()
    rows = ((conversation, n or None, text.replace("{}", str(n))) for n in range(count))
    insert = """INSERT INTO message (conversation, parent, role, created, state, model, content)
        VALUES (?, ?, 'user', 0, 'complete', '', ?)"""
    with store._database.connection() as sql, transaction(sql):
        sql.executemany(insert, rows)
        sql.execute("UPDATE conversation SET leaf = ?", (count,))
    return conversation


def answering(store: Store) -> tuple[int, StoredMessage]:
    """A conversation and an answer in it that has not begun to stream."""
    conversation = store.create()
    return conversation, begin(store, conversation, ask(store, conversation, None, "Hi").id, "tiny")


def contents(store: Store, conversation: int) -> list[str]:
    return [record.content for record in store.path(conversation)]


def integrity(path: Path) -> str:
    with closing(sqlite3.connect(path)) as sql:
        return str(sql.execute("PRAGMA integrity_check").fetchone()[0])


def smash(path):
    """Overwrite pages of a file, after those that list its tables."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size * 3 // 4 // 4096 * 4096)
        file.write(b"\xa5" * 16384)
