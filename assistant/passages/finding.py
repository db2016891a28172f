"""The passages that fit a question: BM25 over its rarest words, without copies."""

import math
import re
import sqlite3
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from assistant.passages import index_file, vocabulary, words
from assistant.passages.splitting import Passage
from assistant.passages.words import COMPOUNDING
from assistant.streamed_text import UNSPACED

WORDS, MAX_PASSAGES = 48, 8_000
"""The most words that are searched for, and the most passages that they may match in all. Words are
added from the rarest on; one that would exceed the limit is left out. This bounds the time."""
EARLIER, BEFORE = (0.4, 0.25, 0.15), 12
"""The weight of a word of an earlier question, the latest first, relative to one of the question
itself; and how many words of each are searched for."""
PAIR = 0.4  # the weight of a pair of characters without a match
RESEMBLED = 8  # the most words without a match that are searched for by similar spelling
KNOWN, RELATED = 0.35, 0.5
"""The share of the question, by the weights of its words, that the best passage must have for the
folder to be about it; and the share of that passage's own share that the others must have."""
NAMED = 3  # the most files that a name may belong to; a heading that more files have is no name
FOREIGN = 0.6  # the share of the question that a passage in another language must have
SIMILAR = 12  # the words by which other versions are looked for, and how many are compared
COPY, CORRECTED = 0.8, 0.6
"""The share of trigrams above which a passage may be a version of another, and of one with the same
first line."""


class Hits(NamedTuple):
    """The passages that fit a question."""

    passages: list[Passage]  # best first; none if the folder is not about it
    instead: dict[str, str]  # words without a match, with those that were searched for instead


class _Word(NamedTuple):
    n_passages: int  # that have it or a substitute
    factor: float  # 1 in the question, less before it
    query: str  # for the word and its substitutes; "" if none has a match


class _Version(NamedTuple):
    share: float
    id: int
    changed: int  # ns
    passage: Passage
    words: list[str]
    trigrams: set[tuple[str, str, str]]


class _Query:
    def __init__(self, sql: sqlite3.Connection, folder: Path, question: str) -> None:
        self._sql, self._folder = sql, folder
        rows = sql.execute("SELECT DISTINCT language FROM file WHERE reason = ''")
        self._languages = [language for (language,) in rows]
        (self._count,) = sql.execute("SELECT count(*) FROM passage").fetchone()
        counts = words.languages(question)
        highest = max(counts.values())
        self._spoken = {name for name in self._languages if counts.get(name, 0) == highest}
        self._foreign = {name for name, count in counts.items() if highest and not count}
        self._vocabulary = vocabulary.of(sql)
        self.instead = dict[str, str]()

    def words(self, question: str) -> list[_Word]:
        """Return the words of a question, the rarest first."""
        pairs = [*words.query_terms(question, self._languages).items()][-WORDS:]
        terms = set().union(*(own for _, own in pairs))
        return sorted(self._word(word, own, terms) for word, own in pairs)

    def earlier(self, text: str, factor: float, subject: Container[str]) -> list[_Word]:
        """Return the rarest words of an earlier message, without those of `subject`."""
        pairs = [*words.query_terms(text, self._languages).items()][-WORDS:]
        counted = (self._count_matches(own, factor) for word, own in pairs if word not in subject)
        return sorted(word for word in counted if word.query)[:BEFORE]

    def _count_matches(self, terms: AbstractSet[str], factor: float = 1.0) -> _Word:
        query = " OR ".join(f'"{term}"' for term in sorted(terms) if term)
        count = "SELECT count(*) FROM words WHERE words MATCH ?"
        (n_passages,) = self._sql.execute(count, (query,)).fetchone() if query else (0,)
        return _Word(n_passages, factor, query if n_passages else "")

    def _word(self, word: str, own: frozenset[str], question_terms: AbstractSet[str]) -> _Word:
        counted = self._count_matches(own | self._substitutes(word, own, question_terms))
        if not counted.query and len(self.instead) < RESEMBLED:
            near = self._vocabulary.resembling(word)
            counted = self._count_matches({*near})
            if counted.query:
                self.instead[word] = next(iter(near.values()))
        if not counted.query and re.match(UNSPACED, word):  # 租多 is of two words
            return counted._replace(factor=PAIR)
        return counted

    def _substitutes(
        self, word: str, own: frozenset[str], question_terms: AbstractSet[str]
    ) -> AbstractSet[str]:
        """Return the terms of compounds with a word, of its parts, and of longer names."""
        known, plain, terms = self._vocabulary, words.terms(word, ""), set[str]()
        if compounding := self._spoken & COMPOUNDING:
            short = {re.sub("e(?=[lnr]$)", "", stem) for stem in own}  # varsel, varslet
            compounds = (known.compounds(stem, question_terms) for stem in own | short)
            terms = known.parts(word, compounding).union(*compounds)
        if not own & known.words.keys() and len(plain) > vocabulary.PART:
            terms.update(islice(known.containing(plain), vocabulary.MAX_TERMS))
        return terms

    def weigh(self, word: _Word, shares: dict[int, float], scores: dict[int, float]) -> float:
        """Add a word to the shares and, as BM25, to the scores of passages; return its weight."""
        frequency = max(word.n_passages, 1)  # an unknown word has the weight of a rare one
        odds = (self._count - frequency + 0.5) / (frequency + 0.5)
        weight, of_fts5 = word.factor * math.log(1 + odds), max(1e-6, math.log(max(odds, 1.0)))
        find = "SELECT rowid, rank FROM words WHERE words MATCH ?"
        for id_, rank in self._sql.execute(find, (word.query,)) if word.query else ():
            shares[id_] += weight  # rank includes FTS5's own weight, near 0 for frequent terms
            scores[id_] -= weight * rank / of_fts5
        return weight

    def named_passages(self, question: str) -> dict[int, float]:
        """Return the passages of the documents that a question names, with the names' weights."""
        weights = defaultdict[int, float](float)
        by_title = "SELECT id, file FROM passage WHERE id IN (SELECT rowid FROM words (?))"
        titles = (words.title(question, language) for language in self._languages)
        for title in set().union(*(pairs.union(alone) for alone, pairs in titles)):
            rows = self._sql.execute(by_title, (f'names : "{title}"',)).fetchall()
            if len({file for _, file in rows}) <= NAMED:
                weight = math.log(1 + (self._count - len(rows) + 0.5) / (len(rows) + 0.5))
                weights.update((id_, weights[id_] + weight) for id_, _ in rows)
        return weights

    def versions(
        self, ids: Sequence[int], shares: dict[int, float], min_share: float, named: Container[int]
    ) -> Iterator[_Version]:
        """Yield passages; those in another language need `min_share`, or a name in the question."""
        for id_ in ids:
            path, language, changed, first, last, heading, header, packed = self._sql.execute(
                "SELECT path, language, changed, first, last, heading, header, packed "
                "FROM passage JOIN file ON file.id = file WHERE passage.id = ?", (id_,)
            ).fetchone()  # fmt: skip
            text, file = index_file.unpack(packed), self._folder / path
            own, parts = Passage(first, last, heading, text, file, header=header), text.split()
            if language not in self._foreign or shares[id_] >= min_share or id_ in named:
                trigrams = {*zip(parts, parts[1:], parts[2:], strict=False)}
                yield _Version(shares[id_], id_, changed, own, parts, trigrams)

    def similar(self, version: _Version) -> list[int]:
        """Return the passages with the rarest of the long words of one: its other versions, too."""
        longest = sorted(dict.fromkeys(version.words), key=len)[-2 * SIMILAR :]
        pairs = words.query_terms(" ".join(longest), self._languages).values()
        counted = sorted(self._count_matches({term}) for term in set[str]().union(*pairs))
        shared = [word.query for word in counted if 1 < word.n_passages < MAX_PASSAGES // SIMILAR]
        query = " OR ".join(shared[:SIMILAR])
        find = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
        return [id_ for (id_,) in self._sql.execute(find, (query, SIMILAR))] if query else []


def find(
    sql: sqlite3.Connection, folder: Path, question: str, before: Sequence[str], limit: int
) -> Hits:
    """Return the passages that fit a question; the arguments are those of `FolderIndex.find`."""
    query, subject = _Query(sql, folder, question), words.query_terms(question, ())
    asked_words, earlier = query.words(question), list[_Word]()
    with_subject = (text for text in before if words.query_terms(text, ()))
    for factor, text in zip(EARLIER, with_subject, strict=False):
        earlier += query.earlier(text, factor, subject)
    if not asked_words:  # And why?
        asked_words = [word._replace(factor=word.factor / EARLIER[0]) for word in earlier]
        earlier = []
    shares, scores = defaultdict[int, float](float), defaultdict[int, float](float)
    whole, left, best = 0.0, MAX_PASSAGES, 0.0
    # With two words that the folder lacks, the question has a subject of its own.
    is_continued = sum(not word.query for word in asked_words) < 2
    for index, word in enumerate([*asked_words, *earlier]):
        if word.n_passages <= left or not scores:
            left -= word.n_passages
            is_asked = index < len(asked_words)
            whole += is_asked * query.weigh(word, shares, scores)
            if is_asked or is_continued:
                best = max(shares.values(), default=0.0)
    named = query.named_passages(question)
    if not shares or best < KNOWN * whole:  # only a document that it names is relevant
        shares, query.instead = defaultdict(float, {id_: shares[id_] for id_ in named}), {}
    if not shares:
        return Hits([], {})
    related = RELATED * max(shares.values()) * (1.0 if subject else 0.5)  # "no, the other one"
    for id_, weight in named.items():
        shares[id_], scores[id_] = shares[id_] + weight, scores[id_] + weight
    ids = [id_ for id_, share in shares.items() if share >= related]
    ids.sort(key=lambda id_: scores[id_], reverse=True)
    versions = partial(query.versions, shares=shares, min_share=FOREIGN * whole, named=named)
    texts = list[list[_Version]]()  # each with its versions
    others = (versions(query.similar(text[0])) for text in islice(texts, limit))
    for version in chain(versions(ids[: 4 * limit]), chain.from_iterable(others)):
        near = [text for text in texts if _are_near(version, text[0])]
        if not near and version.share >= related:
            texts.append([version])
        elif near and version.words not in [other.words for other in near[0]]:
            near[0].append(version)
    return Hits(_join(_dated(texts, folder, limit)), query.instead)


def _dated(texts: Iterable[list[_Version]], folder: Path, limit: int) -> dict[int, Passage]:
    """Return the first passages, each followed by its latest version; other versions come last.

    Versions may contradict each other, so their notes say which file is newer.
    """
    distinct, others = dict[int, Passage](), dict[int, Passage]()
    for versions in texts:
        latest = max(versions, key=lambda version: version.changed)
        older = next(filter(lambda version: version.changed < latest.changed, versions), None)
        for _, id_, changed, passage, *_ in versions:
            if other := latest if changed < latest.changed else older:
                name = other.passage.path.relative_to(folder)
                relation = "older" if other is latest else "newer"
                passage = passage._replace(note=f"{relation} than {name}")
            (distinct if id_ in (versions[0].id, latest.id) else others)[id_] = passage
    return dict([*(distinct | others).items()][:limit])


def _are_near(one: _Version, other: _Version) -> bool:
    first, second = (text.passage.text.partition("\n")[0] for text in (one, other))
    share = CORRECTED if first == second else COPY
    size, common = max(len(one.trigrams), len(other.trigrams)), one.trigrams & other.trigrams
    return one.words == other.words or len(common) > share * size


def _join(passages: dict[int, Passage]) -> list[Passage]:
    """Return passages, with neighbours in a file joined at the rank of the better one."""
    ranks, last = {id_: rank for rank, id_ in enumerate(passages)}, -1
    runs = list[tuple[int, Passage]]()
    for id_, own in sorted(passages.items()):
        rank = ranks[id_]
        if id_ == last + 1 and runs[-1][1].path == own.path:
            earlier_rank, run = runs.pop()
            gap = "\n" * min(3, max(1, own.first - run.last))
            text, note = run.text + gap + own.text, run.note or own.note
            own = run._replace(last=own.last, text=text, note=note)
            rank = min(rank, earlier_rank)
        runs.append((rank, own))
        last = id_
    return [run._replace(text=run.header + run.text) for _, run in sorted(runs)]
