"""The passages that fit a question: BM25 over the words that tell most, without copies."""

import math
import re
import sqlite3
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import NamedTuple

from assistant.passages import index_file, vocabulary, words
from assistant.passages.splitting import Passage
from assistant.passages.vocabulary import INFLECTED
from assistant.passages.words import COMPOUNDING

WORDS, PLACES = 48, 8_000
"""Words that are looked for, and passages that they may be in, all together: the rarest words
count, and those that are in too many passages are left out. This bounds the time."""
EARLIER, BEFORE = (0.4, 0.25, 0.15), 12
"""What a word of an earlier question counts beside one of the question, the last one first; and
how many words of each are looked for."""
ANSWERED = 0.1
"""What a name or a number of an earlier answer counts."""
PART, RELATIVE, RESEMBLING = 0.8, 0.75, 0.75
"""What a word counts as part of a compound, with another ending, and spelled otherwise."""
RESEMBLED = 8
"""Words that no passage has which are looked for by their spelling."""
KNOWN, RELATED = 0.35, 0.5
"""How much of the question, by the weights of its words, the best passage has if the folder says
anything of it; and how much of what that one has the others have."""
NAMED = 3
"""Files that may have the same name; what more have, such as a heading in each, names none."""
FOREIGN = 0.6
"""How much a passage has that is in another language than the question."""
COPY, VERSION = 0.8, 0.4
"""How much two passages share of which one may be a later version of the other; and of what is
asked for of others, what it has: the question may name what the later one has replaced."""


class Hits(NamedTuple):
    """What was found for a question."""

    passages: list[Passage]  # best first; none if the folder says nothing of it
    instead: dict[str, str]  # words that no passage has, with those that were looked for instead


class _Term(NamedTuple):
    factor: float  # what a passage has of a word if it has this
    places: int  # passages that have it
    query: str


class _Word(NamedTuple):
    places: int
    factor: float  # 1 in the question, less before it
    terms: list[_Term]  # the word as it is, and what stands for it; none if no passage has it


class _Version(NamedTuple):
    share: float
    id: int
    changed: int  # ns
    passage: Passage


class _Search:
    def __init__(self, sql: sqlite3.Connection, folder: Path, question: str) -> None:
        self._sql, self._folder = sql, folder
        rows = sql.execute("SELECT DISTINCT language FROM file WHERE reason = ''")
        self._languages = [each for (each,) in rows]
        (self._count,) = sql.execute("SELECT count(*) FROM passage").fetchone()
        counts = words.languages(question)
        most = max(counts.values())
        self._spoken = {each for each in self._languages if counts.get(each, 0) == most or not most}
        self._foreign = {each for each, count in counts.items() if most and not count}
        self._vocabulary = vocabulary.of(sql)
        self.instead = dict[str, str]()

    def asked(self, question: str) -> list[_Word]:
        """Return the words of a question, the rarest first."""
        asked = [*words.asked(question, self._languages).items()][-WORDS:]
        terms = set().union(*(own for _, own in asked))
        return sorted(self._word(word, own, terms) for word, own in asked)

    def earlier(self, text: str, factor: float, asked: Container[str]) -> list[_Word]:
        """Return the rarest words of what was said before, without those of the question."""
        said = [*words.asked(text, self._languages).items()][-WORDS:]
        terms = sorted(self._counted(own) for word, own in said if word not in asked)
        return [_Word(each.places, factor, [each]) for each in terms if each.places][:BEFORE]

    def _counted(self, terms: AbstractSet[str], factor: float = 1.0) -> _Term:
        query = " OR ".join(f'"{term}"' for term in sorted(terms) if term)
        count = "SELECT count(*) FROM words WHERE words MATCH ?"
        (places,) = self._sql.execute(count, (query,)).fetchone() if query else (0,)
        return _Term(factor, places, query)

    def _word(self, word: str, own: frozenset[str], asked: AbstractSet[str]) -> _Word:
        others = (self._counted(*each) for each in self._others(word, own, asked))
        terms = [self._counted(own), *others]
        known = [each for each in terms if each.places]
        if not any(each.factor > PART / 2 for each in known) and len(self.instead) < RESEMBLED:
            near = self._vocabulary.resembling(word, own)
            resembling = self._counted({*near}, RESEMBLING)
            if resembling.places:
                known = [resembling]
                self.instead[word] = " or ".join(sorted({*near.values()})[:2])
        return _Word(max((each.places for each in known), default=0), 1.0, known)

    def _others(
        self, word: str, own: frozenset[str], asked: AbstractSet[str]
    ) -> Iterator[tuple[AbstractSet[str], float]]:
        """Yield what stands for a word: compounds, their parts, and other endings."""
        known, plain = self._vocabulary, words.terms(word, "")
        is_new = not own & known.words.keys()
        if compounding := self._spoken & COMPOUNDING:
            short = {re.sub("e(?=[lnr]$)", "", each) for each in own}  # varsel, varslet
            yield set().union(*(known.compounds(each, asked) for each in own | short)) - own, PART
            yield from ((part, PART / 2) for part in known.parts(word, compounding))
        if is_new and self._spoken & INFLECTED:
            yield set().union(*(known.beginning(each, 3) for each in own)), RELATIVE
        if not all(map(words.has_stems, self._spoken)):
            yield known.beginning(plain, 5) - own, RELATIVE
        if is_new and len(plain) > vocabulary.PART:
            yield known.holding(plain), PART

    def weigh(self, word: _Word, shares: dict[int, float], scores: dict[int, float]) -> float:
        """Add what passages have of a word, and its BM25; return the weight of the word."""
        seen = max(word.places, 1)  # a word it does not know tells no more than a rare one
        weight = word.factor * math.log(1 + (self._count - seen + 0.5) / (seen + 0.5))
        share, score = defaultdict[int, float](float), defaultdict[int, float](float)
        for factor, places, query in word.terms:
            own = max(1e-6, math.log((self._count - places + 0.5) / (places + 0.5)))
            rows = self._sql.execute("SELECT rowid, rank FROM words WHERE words MATCH ?", (query,))
            for id_, rank in rows:  # rank has FTS5's weight, near 0 for what half of them have
                share[id_] = min(1.0, share[id_] + factor)
                score[id_] = max(score[id_], -factor * rank / own)
        for id_ in share:
            shares[id_] += weight * share[id_]
            scores[id_] += weight * score[id_]
        return weight

    def named(self, question: str) -> dict[int, float]:
        """Return the passages of the documents that a question names, with the names' weights."""
        weights = defaultdict[int, float](float)
        sought = "SELECT id, file FROM passage WHERE id IN (SELECT rowid FROM words (?))"
        titles = (words.title(question, each) for each in self._languages)
        for title in set().union(*(pairs.union(alone) for alone, pairs in titles)):
            rows = self._sql.execute(sought, (f'names : "{title}"',)).fetchall()
            if len({file for _, file in rows}) <= NAMED:
                weight = math.log(1 + (self._count - len(rows) + 0.5) / (len(rows) + 0.5))
                weights.update((id_, weights[id_] + weight) for id_, _ in rows)
        return weights

    def versions(
        self, ids: Sequence[int], shares: dict[int, float], least: float, named: Container[int]
    ) -> Iterator[_Version]:
        """Yield passages; in another language than the question what is named or has `least`."""
        for id_ in ids:
            path, language, changed, first, last, heading, header, packed = self._sql.execute(
                "SELECT path, language, changed, first, last, heading, header, packed "
                "FROM passage JOIN file ON file.id = file WHERE passage.id = ?", (id_,)
            ).fetchone()  # fmt: skip
            text, file = index_file.unpacked(packed), self._folder / path
            own = Passage(first, last, heading, text, file, header=header)
            if language not in self._foreign or shares[id_] >= least or id_ in named:
                yield _Version(shares[id_], id_, changed, own)


def found(
    sql: sqlite3.Connection,
    folder: Path,
    question: str,
    before: Sequence[str],
    answers: Sequence[str],
    most: int,
) -> Hits:
    """Return the passages that fit a question; FolderIndex.find says what the arguments are."""
    search, own = _Search(sql, folder, question), words.subject(question)
    asked, earlier = search.asked(question), list[_Word]()
    for factor, text in zip(EARLIER, filter(words.subject, before), strict=False):
        earlier += search.earlier(text, factor, own)
    earlier += search.earlier(words.names(" ".join(answers)), ANSWERED, own)
    if not asked:  # And why?
        asked, earlier = [each._replace(factor=each.factor / EARLIER[0]) for each in earlier], []
    shares, scores = defaultdict[int, float](float), defaultdict[int, float](float)
    whole, left, best = 0.0, PLACES, 0.0
    carries = sum(not each.terms for each in asked) < 2  # else the question has its own subject
    for at, word in enumerate([*asked, *earlier]):
        places = sum(each.places for each in word.terms)
        if places <= left or not scores:
            left -= places
            weight = search.weigh(word, shares, scores)
            whole += weight * (at < len(asked))
            best = max(shares.values(), default=0.0) if at < len(asked) or carries else best
    named = search.named(question)
    if not shares or best < KNOWN * whole:  # all that is asked about is what it names, if anything
        shares, search.instead = defaultdict(float, {id_: shares[id_] for id_ in named}), {}
    if not shares:
        return Hits([], {})
    related = RELATED * max(shares.values()) * (1.0 if own else 0.5)  # "no, the other one"
    for id_, weight in named.items():
        shares[id_], scores[id_] = shares[id_] + weight, scores[id_] + weight
    ids = [id_ for id_, share in shares.items() if share >= VERSION * related]
    ids.sort(key=lambda id_: scores[id_], reverse=True)
    fit = search.versions(ids[: 4 * most], shares, FOREIGN * whole, named)
    return Hits(_joined(_distinct(fit, folder, most, related)), search.instead)


def _distinct(
    fit: Iterable[_Version], folder: Path, most: int, related: float
) -> dict[int, Passage]:
    """Return the first passages, each text once, and its other versions after it.

    What differs in a word may contradict the other: which of their files is newer is in the note.
    """
    texts, kept = list[list[tuple[list[str], _Version]]](), dict[int, Passage]()
    for each in fit:
        own = each.passage.text.split()
        near = [versions for versions in texts if _are_near(own, versions[0][0])]
        if not near and each.share >= related:
            texts.append([(own, each)])
        elif near and own not in [other for other, _ in near[0]]:
            near[0].append((own, each))
    for versions in ([each for _, each in known] for known in texts):
        latest = max(versions, key=lambda each: each.changed)
        older = [each for each in versions if each.changed < latest.changed]
        for _, id_, changed, passage in versions:
            other = latest if changed < latest.changed else next(iter(older), None)
            if other:
                name = other.passage.path.relative_to(folder)
                relation = "older" if other is latest else "newer"
                passage = passage._replace(note=f"{relation} than {name}")
            kept[id_] = passage
    return dict([*kept.items()][:most])


def _are_near(one: list[str], other: list[str]) -> bool:
    own, others = ({*zip(each, each[1:], each[2:], strict=False)} for each in (one, other))
    return one == other or len(own & others) > COPY * max(len(own), len(others))


def _joined(passages: dict[int, Passage]) -> list[Passage]:
    """Return passages; neighbours in a file as one, where the best of them was."""
    places, last = {id_: place for place, id_ in enumerate(passages)}, -1
    runs = list[tuple[int, Passage]]()
    for id_, own in sorted(passages.items()):
        place = places[id_]
        if id_ == last + 1 and runs[-1][1].path == own.path:
            other, run = runs.pop()
            gap = "\n" * min(3, max(1, own.first - run.last))
            text, note = run.text + gap + own.text, run.note or own.note
            own = run._replace(last=own.last, text=text, note=note)
            place = min(place, other)
        runs.append((place, own))
        last = id_
    return [run._replace(text=run.header + run.text) for _, run in sorted(runs)]
