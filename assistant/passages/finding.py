"""The passages of a folder that fit a question.

Words weigh more the rarer they are in the folder. The weight of the words that a passage has is its
coverage of the question, which decides whether the folder is about it; BM25 orders the passages.
"""

import math
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from assistant.passages import versions, vocabulary, words
from assistant.passages.splitting import Passage
from assistant.passages.words import COMPOUNDING
from assistant.streamed_text import UNSPACED

WORDS, MAX_PASSAGES = 48, 8_000
"""The most words that are searched for, and the most passages that they may match in all. Words are
added from the rarest on; one that would exceed the limit is left out. This bounds the time."""
EARLIER, EARLIER_WORDS = (0.4, 0.25, 0.15), 12
"""The weight of a word of an earlier question, the latest first, relative to one of the question
itself; and how many words of each are searched for."""
PAIR = 0.4  # the weight of a pair of characters without a match
RESEMBLED = 8  # the most words without a match that are searched for by similar spelling
KNOWN, TOGETHER, FURTHER = 0.35, 0.6, 0.2
"""The share of the question, by the weights of its words, that the best passage must cover for the
folder to be about it, or the best two; and how much a further one must add to be of use.

Of 130 questions, 78 of them about several things, 111 find all that they need, and 92 did with the
best one alone; of 217 others, 183 and 185 find nothing.
"""
RELATED = 0.5  # the share of the best passage's coverage that the others must have
REPEATED = 0.75  # the weight of a word that is in a better passage too
NAMED = 3  # the most files that a name may belong to; a heading that more files have is no name
FOREIGN = 0.6  # the share of the question that a passage in another language must cover


class Hits(NamedTuple):
    """The passages that fit a question."""

    passages: list[Passage]  # best first; none if the folder is not about it
    instead: dict[str, str]  # words without a match, with those that were searched for instead


class _Word(NamedTuple):
    frequency: int  # of passages that have it or a substitute
    factor: float  # of its weight: 1 in the question, less in an earlier one
    expression: str  # of FTS5, for the word and its substitutes; "" if none has a match


class _Match(NamedTuple):
    weight: float  # of a word
    scores: dict[int, float]  # by BM25, of the passages that have it


class _Query:
    def __init__(self, sql: sqlite3.Connection, question: str) -> None:
        self._sql = sql
        rows = sql.execute("SELECT DISTINCT language FROM file WHERE reason = ''")
        self._languages = [language for (language,) in rows]
        (self._passage_count,) = sql.execute("SELECT count(*) FROM passage").fetchone()
        stop_words = words.languages(question)
        highest = max(stop_words.values())
        self._spoken = {name for name in self._languages if stop_words.get(name, 0) == highest}
        self.foreign = {name for name, share in stop_words.items() if highest and not share}
        self._vocabulary = vocabulary.of(sql)
        self.instead = dict[str, str]()

    def words(self, question: str) -> list[_Word]:
        """Return the words of a question, the rarest first."""
        terms_by_word = [*words.query_terms(question, self._languages).items()][-WORDS:]
        question_terms = set().union(*(terms for _, terms in terms_by_word))
        return sorted(self._word(word, terms, question_terms) for word, terms in terms_by_word)

    def earlier_words(self, before: Iterable[str], subject: Container[str]) -> list[_Word]:
        """Return the rarest words of the earlier questions, without those of `subject`."""
        earlier, texts = list[_Word](), (text for text in before if words.query_terms(text, ()))
        for factor, text in zip(EARLIER, texts, strict=False):
            terms_by_word = [*words.query_terms(text, self._languages).items()][-WORDS:]
            other = (terms for word, terms in terms_by_word if word not in subject)
            counted = (self._count(terms, factor) for terms in other)
            earlier += sorted(word for word in counted if word.expression)[:EARLIER_WORDS]
        return earlier

    def _count(self, terms: AbstractSet[str], factor: float = 1.0) -> _Word:
        expression = " OR ".join(f'"{term}"' for term in sorted(terms) if term)
        count = "SELECT count(*) FROM words WHERE words MATCH ?"
        (n,) = self._sql.execute(count, (expression,)).fetchone() if expression else (0,)
        return _Word(n, factor, expression if n else "")

    def _word(self, word: str, terms: frozenset[str], question_terms: AbstractSet[str]) -> _Word:
        counted = self._count(terms | self._substitutes(word, terms, question_terms))
        if not counted.expression and len(self.instead) < RESEMBLED:
            resembling = self._vocabulary.resembling(word)
            counted = self._count({*resembling})
            if counted.expression:
                self.instead[word] = next(iter(resembling.values()))
        if not counted.expression and re.match(UNSPACED, word):
            # Pairs of characters overlap the borders of words: 租多 in 房租多少 is none that a
            # passage on rents could have.
            return counted._replace(factor=PAIR)
        return counted

    def _substitutes(
        self, word: str, terms: frozenset[str], question_terms: AbstractSet[str]
    ) -> AbstractSet[str]:
        """Return the terms of compounds with a word, of its parts, and of longer names."""
        known, unstemmed, substitutes = self._vocabulary, words.terms(word, ""), set[str]()
        if compounding := self._spoken & COMPOUNDING:
            # Danish varsel becomes varslet: its stem ends in l, without the e before it.
            without_e = {re.sub("e(?=[lnr]$)", "", stem) for stem in terms}
            compounds = (known.compounds(stem, question_terms) for stem in terms | without_e)
            substitutes = known.parts(word, compounding).union(*compounds)
        if not terms & known.words.keys() and len(unstemmed) > vocabulary.PART:
            substitutes.update(islice(known.containing(unstemmed), vocabulary.MAX_TERMS))
        return substitutes

    def match(self, words: Iterable[_Word], others: Sequence[_Match] = ()) -> list[_Match]:
        """Return the passages of words; with those of `others`, at most `MAX_PASSAGES`."""
        matches, budget = list[_Match](), MAX_PASSAGES - sum(len(match.scores) for match in others)
        for word in words:
            if word.frequency <= budget or not any(match.scores for match in (*others, *matches)):
                budget -= word.frequency
                matches.append(self._match(word))
        return matches

    def _weight(self, frequency: int) -> float:
        return math.log(1 + self._odds(frequency))

    def _odds(self, frequency: int) -> float:
        odds: float = (self._passage_count - frequency + 0.5) / (frequency + 0.5)
        return odds

    def _match(self, word: _Word) -> _Match:
        frequency = max(word.frequency, 1)  # an unknown word has the weight of a rare one
        weight = word.factor * self._weight(frequency)
        # FTS5's rank includes a weight of its own, which is near 0 for frequent words.
        ratio = weight / max(1e-6, math.log(max(self._odds(frequency), 1.0)))
        find = "SELECT rowid, rank FROM words WHERE words MATCH ?"
        rows = self._sql.execute(find, (word.expression,)) if word.expression else ()
        return _Match(weight, {passage_id: -ratio * rank for passage_id, rank in rows})

    def named_passages(self, question: str) -> dict[int, float]:
        """Return the passages of the documents that a question names, with the names' weights."""
        weights = defaultdict[int, float](float)
        by_title = "SELECT id, file FROM passage WHERE id IN (SELECT rowid FROM words (?))"
        titles = (words.title(question, language) for language in self._languages)
        for title in set().union(*(pairs.union(single) for single, pairs in titles)):
            rows = self._sql.execute(by_title, (f'names : "{title}"',)).fetchall()
            if len({file for _, file in rows}) <= NAMED:
                for passage_id, _ in rows:
                    weights[passage_id] += self._weight(len(rows))
        return weights


def find(
    sql: sqlite3.Connection, folder: Path, question: str, before: Sequence[str], limit: int
) -> Hits:
    """Return the passages that fit a question; the arguments are those of `FolderIndex.find`."""
    query, subject = _Query(sql, question), words.query_terms(question, ())
    own, earlier = query.words(question), query.earlier_words(before, subject)
    if not own:  # "And why?" is about what was asked before
        own = [word._replace(factor=word.factor / EARLIER[0]) for word in earlier]
        earlier = []
    of_question = query.match(own)
    matches = [*of_question, *query.match(earlier, of_question)]
    question_weight, coverage = sum(match.weight for match in of_question), _coverage(matches)
    # With two words that the folder lacks, the question has a subject of its own.
    is_continued = sum(not word.expression for word in own) < 2
    named = query.named_passages(question)
    cover = _cover(matches if is_continued else of_question, FURTHER * question_weight)
    best, best_two = max(cover.values(), default=0.0), sum(islice(cover.values(), 2))
    if best < KNOWN * question_weight and best_two < TOGETHER * question_weight:
        # Only a document that the question names is relevant.
        coverage, query.instead = {id_: coverage.get(id_, 0.0) for id_ in named}, {}
    if not coverage:
        return Hits([], {})
    # "No, the other one" has no subject, so that what fitted before covers little of it.
    related = RELATED * max(coverage.values()) * (1.0 if subject else 0.5)
    scores = Counter(named)
    for match in matches:
        scores.update(match.scores)
    coverage = {id_: share + named.get(id_, 0.0) for id_, share in coverage.items()}
    ids = [id_ for id_, share in coverage.items() if share >= related or id_ in cover]
    ids.sort(key=lambda id_: scores[id_], reverse=True)
    matches.append(_Match(0.0, named))
    varied = _varied(ids[: 4 * limit], matches)
    best_passages = (versions.read(sql, folder, id_) for id_ in varied)
    fitting = (
        version for version in best_passages
        if version.language not in query.foreign
        or coverage[version.id] >= FOREIGN * question_weight
        or version.id in named
    )  # fmt: skip
    groups = versions.group(fitting, limit)
    versions.complete(groups, sql, folder)
    return Hits(_join(versions.date(groups, folder, limit)), query.instead)


def _cover(matches: Sequence[_Match], min_weight: float) -> dict[int, float]:
    """Return the passages that together have most of a question, each with the weight it adds.

    The first one covers most alone, and each further one adds `min_weight` or more: the things
    that a question compares may stand in one passage each.
    """
    cover = dict[int, float]()
    while coverage := _coverage(matches):
        best = max(coverage, key=coverage.__getitem__)
        if cover and coverage[best] < min_weight:
            break
        cover[best] = coverage[best]
        matches = [match for match in matches if best not in match.scores]
    return cover


def _varied(ids: Sequence[int], matches: Sequence[_Match]) -> Iterator[int]:
    """Yield passages by their scores, in which what passages before have counts less each time.

    So each of the things that a question compares has a passage among the first.
    """
    scores, left = [match.scores for match in matches], dict.fromkeys(ids)
    weights = [1.0] * len(scores)
    while left:
        score = dict.fromkeys(left, 0.0)
        for weight, of_word in zip(weights, scores, strict=True):
            for id_ in left:
                score[id_] += weight * of_word.get(id_, 0.0)
        best = max(score, key=score.__getitem__)
        yield best
        del left[best]
        weights = [w * REPEATED ** (best in s) for w, s in zip(weights, scores, strict=True)]


def _coverage(matches: Iterable[_Match]) -> dict[int, float]:
    """Return the passages that words match, each with the weight of its words."""
    coverage = defaultdict[int, float](float)
    for weight, scores in matches:
        for passage_id in scores:
            coverage[passage_id] += weight
    return coverage


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
