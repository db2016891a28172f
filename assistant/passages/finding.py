"""The passages that fit a question: words by FTS5, then a closer look at the best of them."""

import math
import sqlite3
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assistant.passages import index_file, words
from assistant.passages.passage import Passage

CANDIDATES = 50
"""Passages that are looked at closely, for each way to ask."""
ASKED, BEFORE = 24, 12
"""Words of a question, and of what was said before, that are looked for: the rarest."""
BEFORE_WEIGHT = 0.3
"""How much a word that was said before counts beside one of the question."""
COMMON = 0.1
"""Of all passages: those with a word that no passage is looked for by, if there are rarer ones."""
KNOWN, RELATED = 0.35, 0.5
"""How much of a question, by weight, the best passage has if the folder says anything
of it, and how much of that the others have."""
COPY = 0.8
"""How much of a passage is in another of which it is a near copy."""
_SATURATION, _LENGTH = 1.2, 0.75  # of BM25


class _Word(NamedTuple):
    """A word that is looked for."""

    terms: frozenset[str]  # what it may be in the languages of the folder
    weight: float
    is_common: bool


class _Candidate(NamedTuple):
    """A passage that may fit."""

    id: int
    passage: Passage
    terms: list[str]

    @property
    def shingles(self) -> set[tuple[str, ...]]:
        """Three terms in a row, each time."""
        return {*zip(self.terms, self.terms[1:], self.terms[2:], strict=False)}


def found(
    sql: sqlite3.Connection, folder: Path, question: str, before: Sequence[str], most: int
) -> list[Passage]:
    """Return the passages that fit a question, best first; none if no word that counts is known.

    Args:
        sql: an index.
        folder: what its paths are relative to.
        question: what is asked.
        before: what was said before.
        most: how many passages are wanted.
    """
    languages = [each for (each,) in sql.execute("SELECT DISTINCT language FROM file") if each]
    (count,) = sql.execute("SELECT count(*) FROM passage").fetchone()
    asked = _weighed(sql, count, words.asked(question, languages))[:ASKED]
    said = _weighed(sql, count, words.asked(" ".join(before), languages))[:BEFORE]
    if not asked:  # And why?
        asked, said = said, []
    rest = [each._replace(weight=each.weight * BEFORE_WEIGHT) for each in said if each not in asked]
    ids = _matching(sql, asked) | (_matching(sql, asked + rest) if rest else set())
    candidates = [_candidate(sql, folder, id_) for id_ in ids]
    usual = sum(len(each.terms) for each in candidates) / (len(candidates) or 1)
    shares = {each.id: _share(each, asked) for each in candidates}
    if (best := max(shares.values(), default=0.0)) < KNOWN:
        return []
    known = [each for each in candidates if shares[each.id] >= RELATED * best]
    known.sort(key=lambda each: _score(each, asked + rest, usual), reverse=True)
    return _joined(_distinct(known, most))


def _weighed(sql: sqlite3.Connection, count: int, asked: Sequence[frozenset[str]]) -> list[_Word]:
    """Return words with their weights, the rarest first."""
    weighed = []
    for terms in asked:
        places = ", ".join("?" * len(terms))
        query = f"SELECT max(doc) FROM vocabulary WHERE term IN ({places})"
        (held,) = sql.execute(query, tuple(terms)).fetchone()
        weight = math.log(1 + (count - (held or 0) + 0.5) / ((held or 0) + 0.5))
        weighed.append(_Word(terms, weight, (held or 0) > COMMON * count))
    return sorted(weighed, key=lambda each: each.weight, reverse=True)


def _matching(sql: sqlite3.Connection, asked: Sequence[_Word]) -> set[int]:
    """Return the passages that BM25 puts first."""
    rare = [each for each in asked if not each.is_common] or asked
    query = " OR ".join(f'"{term}"' for each in rare for term in each.terms if term)
    if not query:
        return set()
    rows = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
    return {id_ for (id_,) in sql.execute(rows, (query, CANDIDATES))}


def _candidate(sql: sqlite3.Connection, folder: Path, id_: int) -> _Candidate:
    path, language, first, last, heading, packed = sql.execute(
        "SELECT path, language, first, last, heading, packed FROM passage "
        "JOIN file ON file.id = file WHERE passage.id = ?", (id_,)
    ).fetchone()  # fmt: skip
    passage = Passage(folder / path, first, last, index_file.text(packed), heading)
    said = words.terms(index_file.indexed(path, heading, passage.text), language)
    return _Candidate(id_, passage, said.split())


def _share(candidate: _Candidate, asked: Sequence[_Word]) -> float:
    """Return how much of what is asked a passage has, by weight."""
    held = {*candidate.terms}
    return sum(each.weight for each in asked if held & each.terms) / sum(
        each.weight for each in asked
    )


def _score(candidate: _Candidate, asked: Sequence[_Word], usual: float) -> float:
    """Return BM25 with the weights of the words; `usual` is the length of a passage in words."""
    counts, score = Counter(candidate.terms), 0.0
    length = 1 - _LENGTH + _LENGTH * len(candidate.terms) / usual
    for word in asked:
        often = max(counts[term] for term in word.terms)
        score += word.weight * often * (1 + _SATURATION) / (often + _SATURATION * length)
    return score


def _distinct(candidates: Sequence[_Candidate], most: int) -> list[_Candidate]:
    """Return the first of them that are no near copies of better ones."""
    kept = list[tuple[_Candidate, set[tuple[str, ...]]]]()
    for each in candidates:
        own = each.shingles
        if len(kept) < most and not any(
            len(own & other) > COPY * max(len(own), len(other)) for _, other in kept
        ):
            kept.append((each, own))
    return [each for each, _ in kept]


def _joined(candidates: Sequence[_Candidate]) -> list[Passage]:
    """Return passages; those that follow each other in a file are one, in the place of the best."""
    places, runs = {each.id: place for place, each in enumerate(candidates)}, dict[int, Passage]()
    last, place = -1, 0
    for each in sorted(candidates, key=lambda each: each.id):
        own = each.passage
        if each.id == last + 1 and (run := runs.get(place)) and run.path == own.path:
            del runs[place]
            gap = "\n" * min(3, max(1, own.first - run.last))
            place = min(place, places[each.id])
            runs[place] = run._replace(last=own.last, text=run.text + gap + own.text)
        else:
            place = places[each.id]
            runs[place] = own
        last = each.id
    return [runs[place] for place in sorted(runs)]
