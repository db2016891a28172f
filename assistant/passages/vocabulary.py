"""The words of a folder, searched by their parts, their beginnings and similar spelling."""

import re
import sqlite3
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import closing
from functools import lru_cache
from itertools import islice
from pathlib import Path

from assistant.passages import index_file, words

LINKS = ("", "s", "es", "n", "en", "e", "er", "ens")  # letters that link the parts of a compound
PART, SHORT = 4, 3  # the fewest letters of a part of a compound, and of a part that is a word
MAX_TERMS = 40  # the most terms that a word is searched as


class Vocabulary:
    """All terms of a folder, each with a word that it stands for."""

    def __init__(self, rows: Iterable[tuple[str, str]]) -> None:
        """Take pairs of a term and a word."""
        self.words = dict(rows)
        self._text = "\n".join(["", *self.words, ""])
        self._spelled = "".join(f"\n{word} {term}" for term, word in self.words.items())

    def compounds(self, part: str, question_terms: AbstractSet[str]) -> set[str]:
        """Return the compounds that begin or end with a part, which is at least four letters.

        The rest of a compound is a part as well: long enough, and a word of the folder or one of
        `question_terms`.
        """

        def is_part(rest: str) -> bool:
            if len(rest) >= PART and (len(part) > PART or f"\n{rest[:5]}" in self._text):
                return True
            bare = {rest.removeprefix(link).removesuffix(end) for link in LINKS for end in LINKS}
            return any(len(stem) >= SHORT and stem in question_terms for stem in bare)

        ends = [(term, *term.split(part, 1)) for term in self._containing(part) if term != part]
        fit = (term for term, first, last in ends if not (first and last) and is_part(first + last))
        return set(islice(fit, MAX_TERMS)) if len(part) >= PART or part in question_terms else set()

    def containing(self, part: str) -> set[str]:
        """Return the terms that contain a part, such as a name without its first word."""
        return set(islice(self._containing(part), MAX_TERMS))

    def parts(self, word: str, languages: Iterable[str]) -> list[frozenset[str]]:
        """Return the terms of the two parts of a compound, or of the one that is known."""
        pairs = []
        for cut in range(PART, len(word) - SHORT + 1):
            bare = [word[:cut].removesuffix(link) for link in LINKS]
            first = self._known_terms((part for part in bare if len(part) >= PART), languages)
            pairs.append((first, self._known_terms([word[cut:]], languages)))
        both = [pair for pair in pairs if all(pair)]
        if both:
            return [*both[len(both) // 2]]
        known = [terms for pair in pairs for terms in pair if terms]
        return [max(known, key=lambda terms: max(map(len, terms)), default=frozenset())]

    def _known_terms(self, parts: Iterable[str], languages: Iterable[str]) -> frozenset[str]:
        stems = {words.terms(part, language) for part in parts for language in languages}
        return frozenset(stem for stem in stems if len(stem) >= SHORT and stem in self.words)

    def resembling(self, word: str) -> dict[str, str]:
        """Return the terms, with their words, that are spelled most like a word.

        Short words have too many neighbours: of five letters one may differ, of eight two.
        """
        if len(word) <= PART or not word.isalpha():
            return {}
        few, letters, candidates = 1 + (len(word) >= 8), {*word}, list[tuple[int, str]]()
        length = f"{len(word) - few - 2},{len(word) + few}"
        for own, term in re.findall(f"\n([{word[:2]}][^ \n]{{{length}}}) (.+)", self._spelled):
            if len(letters.symmetric_difference(own)) <= 2 * few:
                candidates.append((distance(own, word), term))
        nearest = min(candidates, default=(0, ""))[0]
        fit = [term for far, term in candidates if far <= few and far == nearest]
        return {term: self.words[term] for term in fit[:MAX_TERMS]}

    def _containing(self, part: str) -> Iterator[str]:
        at = self._text.find(part)
        while at >= 0:
            last = self._text.index("\n", at + 1)
            yield self._text[self._text.rfind("\n", 0, at + 1) + 1 : last]
            at = self._text.find(part, last)


def distance(one: str, other: str) -> int:
    """Return how many letters differ, are exchanged with the next one, added or missing.

    After the first one, each added or missing letter counts twice: two are seldom forgotten.
    """
    before = row = list(range(len(other) + 1))
    for i, letter in enumerate(one):
        earlier, before, row = before, row, [i + 1]
        for j, same in enumerate(other):
            row.append(min(before[j] + (letter != same), before[j + 1] + 1, row[j] + 1))
            if i and j and letter == other[j - 1] and same == one[i - 1]:
                row[-1] = min(row[-1], earlier[j - 1] + 1)
        if min(row) > 2:  # it only grows
            break
    return row[-1] + max(abs(len(one) - len(other)) - 1, 0)


def of(sql: sqlite3.Connection) -> Vocabulary:
    """Return the vocabulary of an index; it is cached until the index has other words."""
    (_, _, path), *_ = sql.execute("PRAGMA database_list")
    if not path:  # that of a text, in memory
        return Vocabulary(sql.execute("SELECT term, word FROM vocabulary"))
    return _read(path, *sql.execute("SELECT count(*), max(id) FROM vocabulary").fetchone())


@lru_cache(2)
def _read(path: str, count: int, last: int) -> Vocabulary:
    with closing(index_file.opened(Path(path))) as sql:
        return Vocabulary(sql.execute("SELECT term, word FROM vocabulary"))
