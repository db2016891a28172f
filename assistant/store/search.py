"""The list of conversations, all or those that match a search."""

import re
import sqlite3
from itertools import groupby, islice
from unicodedata import normalize

from assistant.store.values import ChatSummary, moment
from assistant.streamed_text import UNSPACED
from models.errors import well_formed

_MAX_WORDS = 32  # each costs a look-up
_MAX_WORD = 200
_BEFORE, _AFTER = 30, 90  # characters of a snippet
_OTHER_SCRIPT = "[\u0e00-\uffff]"  # forms one term with a Latin word beside it; one range is fast

_LISTED = """
    SELECT *, (SELECT count(*) FROM message
        WHERE conversation = page.id AND hidden IS NULL) AS messages
    FROM (SELECT id, title, created, updated, pinned, {hit} AS hit FROM conversation {joined}
        WHERE deleted IS NULL ORDER BY pinned DESC, updated DESC, id DESC LIMIT :limit) page
    ORDER BY pinned DESC, updated DESC, id DESC"""
# The conversations that match, each with its newest matching message.
_HITS = """JOIN (SELECT conversation, max(message) AS message FROM (
    SELECT conversation, id AS message FROM message
        WHERE hidden IS NULL AND state <> 'streaming' AND {in_message}
    UNION ALL SELECT id, NULL FROM conversation WHERE {in_title})
    GROUP BY conversation) hits ON hits.conversation = conversation.id"""
_INDEXED = "id IN (SELECT rowid FROM {index} WHERE {index} MATCH :query{number})"
# A sentence without spaces is one term of the index, which does not match a word in it.
_WITHIN = """ OR instr(lower({text}), :word{number})
    AND (lower({text}) GLOB :after{number} OR lower({text}) GLOB :before{number})"""
_LITERAL = "instr(lower({text}), :word{number})"
_MESSAGE = {"index": "message_text", "text": "content || char(0) || thought"}
_TITLE = {"index": "title_text", "text": "title"}
_VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab (main, {index}, row)"


def chats(sql: sqlite3.Connection, search: str = "", limit: int = 200) -> tuple[ChatSummary, ...]:
    """Return conversations, pinned ones first, then the newest.

    With a search: those that contain all of its words (the last may be the beginning of a word),
    each with a snippet from its newest matching message.
    """
    search = well_formed(search).replace("\0", " ").strip()
    if not search:
        rows = sql.execute(_LISTED.format(hit="NULL", joined=""), {"limit": limit})
        return tuple(_summary(row, "") for row in rows)
    words = _word_parameters(search)
    sql.execute(_VOCABULARY.format(**_MESSAGE))
    other_script = sql.execute("SELECT 1 FROM temp.terms WHERE term >= '\u0e00' LIMIT 1").fetchone()
    joined = _HITS.format(
        in_message=_condition(words, _MESSAGE, _WITHIN if other_script else ""),
        in_title=_condition(words, _TITLE, _WITHIN),
    )
    values = {f"{key}{at}": part for at, word in enumerate(words) for key, part in word.items()}
    query = _LISTED.format(hit="hits.message", joined=joined)
    hits = sql.execute(query, {"limit": limit, **values}).fetchall()
    return tuple(_summary(row, _snippet(sql, search, row["hit"])) for row in hits)


def _word_parameters(search: str) -> list[dict[str, str]]:
    """Return the SQL parameters of each word of a search; indexed words have a `query`."""
    parts = [part[:_MAX_WORD] for part in search.split()]
    indexed = [part for part in parts if any(map(str.isalnum, part))][:_MAX_WORDS]
    words = []
    for part in indexed or parts[:_MAX_WORDS]:
        bare = re.sub(r"([*?[])", r"[\1]", part.lower())
        after, before = f"*{_OTHER_SCRIPT}{bare}*", f"*{bare}{_OTHER_SCRIPT}*"
        word = {"word": part.lower(), "after": after, "before": before}
        if indexed and not re.search(UNSPACED, part):
            # In quotation marks, words are never taken for operators of FTS5.
            forms = {normalize(name, part).replace('"', '""') for name in ("NFC", "NFD")}
            end = "*" if part is indexed[-1] else ""  # the last one may be unfinished
            word["query"] = " OR ".join(f'"{spelling}"{end}' for spelling in sorted(forms))
        words.append(word)
    return words


def _condition(words: list[dict[str, str]], table: dict[str, str], within: str) -> str:
    """Return the SQL condition for a text with all words of a search."""
    conditions = []
    for number, word in enumerate(words):
        is_indexed = "query" in word
        if is_indexed:
            conditions.append(f"({_INDEXED}{within})".format(**table, number=number))
        if not is_indexed or re.search(r"\w[+#]+$", word["word"]):  # -> or C++
            conditions.append(_LITERAL.format(**table, number=number))
    return " AND ".join(conditions)


def prompts(sql: sqlite3.Connection, limit: int = 500) -> tuple[str, ...]:
    """Return the last `limit` questions, oldest first, without repetitions in a row."""
    rows = sql.execute(
        "SELECT content FROM message CROSS JOIN conversation c ON c.id = conversation "
        "WHERE role = 'user' AND hidden IS NULL AND deleted IS NULL "
        "ORDER BY message.created DESC, message.id DESC"
    )
    newest = [text for text, _ in islice(groupby(text for (text,) in rows), limit)]
    return tuple(reversed(newest))


def _summary(row: sqlite3.Row, snippet: str) -> ChatSummary:
    id_, title, created, updated, pinned, hit, messages = row
    dates = moment(created), moment(updated)
    return ChatSummary(id_, title, *dates, bool(pinned), messages, snippet, hit)


def _snippet(sql: sqlite3.Connection, search: str, message: int | None) -> str:
    """Return the text around the first word of the search, or the beginning of the message."""
    row = sql.execute("SELECT content, thought FROM message WHERE id = ?", (message,)).fetchone()
    if row is None:
        return ""
    word = search.split()[0]
    texts = [(str(text), re.search(rf"(?<!\w){re.escape(word)}", str(text), re.I)) for text in row]
    text, match = next((pair for pair in texts if pair[1]), texts[0])
    index = match.start() if match else max(0, text.lower().find(word.lower()))
    start, end = max(0, index - _BEFORE), index + _AFTER
    excerpt = " ".join(text[start:end].split())
    return f"{'…' if start > 0 else ''}{excerpt}{'…' if end < len(text) else ''}"
