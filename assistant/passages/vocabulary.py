"""The words of a folder, searched by their parts and by similar spelling."""

import sqlite3
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import closing
from difflib import get_close_matches
from functools import cached_property, lru_cache
from itertools import chain, islice
from pathlib import Path

from assistant.passages import index_file, words

PART, SHORT = 4, 3  # the fewest letters of a part of a compound, and of a part that is a word
BEGINNING = 5  # letters of a part that is known if a word of the folder begins with them
ALIKE = 0.8  # the share of the letters of two words that they must have in common, in order
MAX_TERMS = 40  # the most terms that a word is searched as


class Vocabulary:
    """All terms of a folder, each with a word that it stands for."""

    def __init__(self, rows: Iterable[tuple[str, str]]) -> None:
        """Take pairs of a term and a word."""
        self.words = dict(rows)
        self._text = "\n".join(["", *self.words, ""])

    @cached_property
    def _beginnings(self) -> set[str]:
        return {term[:count] for term in self.words for count in (PART, BEGINNING)}

    def compounds(self, part: str, question_terms: AbstractSet[str]) -> set[str]:
        """Return the compounds that begin or end with a part, which is at least four letters.

        The rest of a compound is a part as well: long enough, and a word of the folder or one of
        `question_terms`.
        """

        def is_part(rest: str) -> bool:
            if len(rest) >= PART and (len(part) > PART or rest[:BEGINNING] in self._beginnings):
                return True
            return len(rest) >= SHORT and rest in question_terms

        if len(part) < PART and part not in question_terms:
            return set()
        beginning = ((term, term[len(part) :]) for term in self.containing(f"\n{part}"))
        ending = ((term, term[: -len(part)]) for term in self.containing(f"{part}\n"))
        fit = (term for term, rest in chain(beginning, ending) if is_part(rest))
        return set(islice(fit, MAX_TERMS))

    def parts(self, word: str, languages: Iterable[str]) -> set[str]:
        """Return the terms of the two parts of a compound, or of the one that is known."""
        cuts = range(PART, len(word) - SHORT + 1)
        halves = ((word[:cut], word[cut:]) for cut in cuts)  # the stem of Arbeits is that of Arbeit
        pairs = [tuple(self._known_terms(half, languages) for half in both) for both in halves]
        both = [pair for pair in pairs if all(pair)]
        if both:
            return set().union(*both[len(both) // 2])
        known = [terms for pair in pairs for terms in pair if terms]
        return max(known, key=lambda terms: max(map(len, terms)), default=set())

    def _known_terms(self, part: str, languages: Iterable[str]) -> set[str]:
        stems = {words.terms(part, language) for language in languages}
        return {stem for stem in stems if len(stem) >= SHORT and stem in self.words}

    def resembling(self, word: str) -> dict[str, str]:
        """Return the terms, with the word that is spelled most like this one.

        Short words have too many neighbours. One of five letters may differ, two of ten.
        """
        if len(word) <= PART or not word.isalpha():
            return {}
        pairs = [pair for pair in self.words.items() if pair[1].startswith(word[:2])]
        near = get_close_matches(word, dict.fromkeys(own for _, own in pairs), 1, ALIKE)
        return {term: own for term, own in pairs if own in near}

    def containing(self, part: str) -> Iterator[str]:
        """Yield the terms that contain a part, such as a name without its first word."""
        at = self._text.find(part)
        while at >= 0:
            last = self._text.index("\n", at + 1)
            yield self._text[self._text.rfind("\n", 0, at + 1) + 1 : last]
            at = self._text.find(part, last)


def of(sql: sqlite3.Connection) -> Vocabulary:
    """Return the vocabulary of an index; it is cached until the index has other words."""
    (_, _, path), *_ = sql.execute("PRAGMA database_list")
    if not path:  # that of a text, in memory
        return Vocabulary(sql.execute("SELECT term, word FROM vocabulary"))
    return _read(path, *sql.execute("SELECT revision FROM folder").fetchone())


@lru_cache(2)
def _read(path: str, revision: int) -> Vocabulary:
    with closing(index_file.open_index(Path(path))) as sql:
        return Vocabulary(sql.execute("SELECT term, word FROM vocabulary"))
