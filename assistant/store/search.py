"""The list of conversations, all or those that match a search."""

import re
import sqlite3
from itertools import groupby, islice

from assistant.store.values import ChatSummary
from models.errors import well_formed

_MAX_WORDS = 32  # each costs a look-up
_MAX_WORD = 200
_BEFORE, _AFTER = 30, 90  # characters of a snippet
# Scripts without spaces between words: the index would take a sentence for one word.
_UNSPACED = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")

_LISTED = """
    SELECT *, (SELECT count(*) FROM message
        WHERE conversation = page.id AND hidden IS NULL) AS messages
    FROM (SELECT id, title, created, updated, pinned, {hit} AS hit FROM conversation {joined}
        WHERE deleted IS NULL ORDER BY pinned DESC, updated DESC, id DESC LIMIT ?) page
    ORDER BY pinned DESC, updated DESC, id DESC"""
# The conversations that match, each with its newest matching message.
_INDEXED = """JOIN (SELECT conversation, max(message) AS message FROM (
    SELECT conversation, id AS message FROM message_text CROSS JOIN message
        ON message.id = message_text.rowid WHERE message_text MATCH ? AND hidden IS NULL
    UNION ALL SELECT rowid, NULL FROM title_text WHERE title_text MATCH ?)
    GROUP BY conversation) hits ON hits.conversation = conversation.id"""
_SCANNED = """JOIN (SELECT conversation, max(message) AS message FROM (
    SELECT conversation, id AS message FROM message
        WHERE hidden IS NULL AND state <> 'streaming' AND instr(content || char(0) || thought, ?)
    UNION ALL SELECT id, NULL FROM conversation WHERE instr(title, ?))
    GROUP BY conversation) hits ON hits.conversation = conversation.id"""


def listed(sql: sqlite3.Connection, search: str, limit: int) -> tuple[ChatSummary, ...]:
    """Return conversations, pinned ones first, then the newest."""
    search = well_formed(search).replace("\0", " ").strip()
    if not search:
        rows = sql.execute(_LISTED.format(hit="NULL", joined=""), (limit,))
        return tuple(_summary(row, "") for row in rows)
    words = expression(search)
    query = _LISTED.format(hit="hits.message", joined=_INDEXED if words else _SCANNED)
    found = sql.execute(query, (words or search, words or search, limit)).fetchall()
    return tuple(_summary(row, _snippet(sql, search, row["hit"])) for row in found)


def prompts(sql: sqlite3.Connection, limit: int) -> tuple[str, ...]:
    """Return the last `limit` questions, oldest first, without repetitions in a row."""
    rows = sql.execute(
        "SELECT content FROM message CROSS JOIN conversation c ON c.id = conversation "
        "WHERE role = 'user' AND hidden IS NULL AND deleted IS NULL "
        "ORDER BY message.created DESC, message.id DESC"
    )
    newest = [text for text, _ in islice(groupby(text for (text,) in rows), limit)]
    return tuple(reversed(newest))


def expression(search: str) -> str | None:
    """Return the FTS5 query for a search; None if the index cannot answer it."""
    parts = [part[:_MAX_WORD] for part in search.split()]
    parts = [part for part in parts if any(map(str.isalnum, part))][:_MAX_WORDS]
    if not parts or _UNSPACED.search(search):
        return None
    # In quotation marks, words are never taken for operators of FTS5.
    return " ".join('"{}"'.format(part.replace('"', '""')) for part in parts) + "*"


def _summary(row: sqlite3.Row, snippet: str) -> ChatSummary:
    id_, title, created, updated, pinned, hit, messages = row
    return ChatSummary(id_, title, created, updated, bool(pinned), messages, snippet, hit)


def _snippet(sql: sqlite3.Connection, search: str, message: int | None) -> str:
    """Return the text around the first word of the search, or the beginning of the message."""
    row = sql.execute("SELECT content, thought FROM message WHERE id = ?", (message,)).fetchone()
    if row is None:
        return ""
    word = search.split()[0]
    texts = [(str(text), re.search(rf"(?<!\w){re.escape(word)}", str(text), re.I)) for text in row]
    text, found = next((each for each in texts if each[1]), texts[0])
    place = found.start() if found else max(0, text.find(word))
    start, end = max(0, place - _BEFORE), place + _AFTER
    excerpt = " ".join(text[start:end].split())
    return f"{'…' * (start > 0)}{excerpt}{'…' * (end < len(text))}"
