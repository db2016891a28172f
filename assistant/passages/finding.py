"""The passages that fit a question: BM25 over the words that tell most, without copies."""

import math
import re
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from assistant.passages import index_file, words
from assistant.passages.splitting import Passage

WORDS, PLACES = 48, 8_000
"""Words that are looked for, and passages that they may be in, all together: the rarest words
count, and those that are in too many passages are left out. This bounds the time."""
BEFORE, BEFORE_WEIGHT = 12, 0.3
"""Words from before the question that are looked for, and what one counts beside one in it."""
KNOWN, RELATED = 0.35, 0.5
"""How much of the question, by the weights of its words, the best passage has if the folder says
anything of it; and how much of what that one has the others have."""


def found(
    sql: sqlite3.Connection, folder: Path, question: str, before: Sequence[str], most: int
) -> list[Passage]:
    """Return the passages that fit a question, best first; none if the folder says nothing."""
    languages = [each for (each,) in sql.execute("SELECT DISTINCT language FROM file") if each]
    (count,) = sql.execute("SELECT count(*) FROM passage").fetchone()
    asked = words.asked(question, languages)[-WORDS:]
    said = [each for each in words.asked(" ".join(before), languages) if each not in asked]
    counted = sorted(_counted(sql, word) for word in asked)
    earlier = [each for each in sorted(_counted(sql, word) for word in said[-WORDS:]) if each[0]]
    if not asked:  # And why?
        counted, earlier = earlier, []
    weighed = [(1.0, *each) for each in counted]
    weighed += [(BEFORE_WEIGHT, *each) for each in earlier[:BEFORE]]
    scores, shares = defaultdict[int, float](float), defaultdict[int, float](float)
    whole, left = 0.0, PLACES
    for factor, places, query in weighed:
        if places <= left or not scores:
            left -= places
            seen = max(places, 1)  # a word it does not know tells no more than a rare one
            weight = factor * math.log(1 + (count - seen + 0.5) / (seen + 0.5))
            whole += weight * (factor == 1)
            own = max(1e-6, math.log((count - places + 0.5) / (places + 0.5)))  # FTS5's weight,
            rows = sql.execute("SELECT rowid, rank FROM words WHERE words MATCH ?", (query,))
            for id_, rank in rows:  # ... which is next to 0 for what half of a small folder has
                scores[id_] -= weight * rank / own
                shares[id_] += weight
    best = max(shares.values(), default=0.0)
    if best < KNOWN * whole:
        return []
    ids = [id_ for id_, share in shares.items() if share >= RELATED * best]
    ids.sort(key=lambda id_: scores[id_], reverse=True)
    return _joined(_distinct(sql, folder, ids, most))


def _counted(sql: sqlite3.Connection, terms: frozenset[str]) -> tuple[int, str]:
    """Return how many passages have a word, and the query for it."""
    query = " OR ".join(f'"{term}"' for term in sorted(terms))
    (places,) = sql.execute("SELECT count(*) FROM words WHERE words MATCH ?", (query,)).fetchone()
    return places, query


def _distinct(
    sql: sqlite3.Connection, folder: Path, ids: Sequence[int], most: int
) -> dict[int, Passage]:
    """Return the first passages, each text once; one that differs in a word may be a correction."""
    kept, seen = dict[int, Passage](), list[list[str]]()
    for id_ in ids[: 4 * most]:
        path, first, last, heading, packed = sql.execute(
            "SELECT path, first, last, heading, packed FROM passage JOIN file ON file.id = file "
            "WHERE passage.id = ?", (id_,)
        ).fetchone()  # fmt: skip
        passage = Passage(first, last, heading, index_file.unpacked(packed), folder / path)
        own = re.findall(r"\w+", passage.text.casefold())
        if own not in seen:
            kept[id_] = passage
            seen.append(own)
        if len(kept) == most:
            break
    return kept


def _joined(passages: dict[int, Passage]) -> list[Passage]:
    """Return passages; neighbours in a file as one, where the best of them was."""
    places, last = {id_: place for place, id_ in enumerate(passages)}, -1
    runs = list[tuple[int, Passage]]()
    for id_, own in sorted(passages.items()):
        place = places[id_]
        if id_ == last + 1 and runs[-1][1].path == own.path:
            other, run = runs.pop()
            gap = "\n" * min(3, max(1, own.first - run.last))
            own = run._replace(last=own.last, text=run.text + gap + own.text)
            place = min(place, other)
        runs.append((place, own))
        last = id_
    return [run for _, run in sorted(runs)]
