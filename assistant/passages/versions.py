"""Versions of a text: passages with nearly the same words, which may contradict each other."""

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from assistant.passages import index_file, words
from assistant.passages.splitting import Passage

SIMILAR = 12
"""By how many words other versions are searched for, and how many passages are compared."""
FREQUENT = 100  # a word of more passages is not used for that: it would take long
COPY, CORRECTED = 0.8, 0.6
"""The share of trigrams above which a passage is a version of another, and of one with the same
first line."""


class Version(NamedTuple):
    """A passage, with what is compared."""

    id: int
    changed: int  # ns
    language: str
    passage: Passage
    words: list[str]
    trigrams: set[tuple[str, str, str]]


def read(sql: sqlite3.Connection, folder: Path, passage_id: int) -> Version:
    """Read a passage from the index of a folder."""
    path, language, changed, first, last, heading, header, packed = sql.execute(
        "SELECT path, language, changed, first, last, heading, header, packed "
        "FROM passage JOIN file ON file.id = file WHERE passage.id = ?", (passage_id,)
    ).fetchone()  # fmt: skip
    text = index_file.unpack(packed)
    passage, parts = Passage(first, last, heading, text, folder / path, header=header), text.split()
    trigrams = {*zip(parts, parts[1:], parts[2:], strict=False)}
    return Version(passage_id, changed, language, passage, parts, trigrams)


def group(passages: Iterable[Version], limit: int) -> list[list[Version]]:
    """Return the first distinct texts among passages, each with its other versions."""
    groups = list[list[Version]]()
    for version in passages:
        own = next((group for group in groups if _are_versions(version, group[0])), None)
        if own is not None:
            _add(version, own)
        elif len(groups) < limit:
            groups.append([version])
        else:
            break
    return groups


def complete(groups: Sequence[list[Version]], sql: sqlite3.Connection, folder: Path) -> None:
    """Add the versions that the folder has besides, whether they fit the question or not."""
    grouped = {version.id for group in groups for version in group}
    for group in groups:
        for passage_id in _similar(sql, group[0]):
            if passage_id not in grouped:
                version = read(sql, folder, passage_id)
                if _are_versions(version, group[0]):
                    grouped.add(passage_id)
                    _add(version, group)


def _add(version: Version, group: list[Version]) -> None:
    if all(version.words != other.words for other in group):  # the same text is shown once
        group.append(version)


def _are_versions(one: Version, other: Version) -> bool:
    first_lines = (version.passage.text.partition("\n")[0] for version in (one, other))
    share = CORRECTED if next(first_lines) == next(first_lines) else COPY
    smaller, larger = sorted((one.trigrams, other.trigrams), key=len)
    if len(smaller) <= share * len(larger):  # which spares most comparisons
        return one.words == other.words
    return len(smaller & larger) > share * len(larger)


def _similar(sql: sqlite3.Connection, version: Version) -> list[int]:
    """Return the passages that share the rarest of the long words of one."""
    longest = sorted(dict.fromkeys(version.words), key=len)[-2 * SIMILAR :]
    terms = {term for term, _ in words.pairs(" ".join(longest), version.language)}
    count = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    counted = ((sql.execute(count, (f'"{term}"', FREQUENT)).fetchone()[0], term) for term in terms)
    shared = [f'"{term}"' for frequency, term in sorted(counted) if 1 < frequency < FREQUENT]
    query = " OR ".join(shared[:SIMILAR])
    find = "SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
    ranks = dict(sql.execute(find, (query, SIMILAR))) if query else {}
    return [id_ for id_, rank in ranks.items() if rank < ranks.get(version.id, 0.0) / 2]


def date(groups: Iterable[list[Version]], folder: Path, limit: int) -> dict[int, Passage]:
    """Return the first passage of each group, followed by its latest version; others come last.

    Their notes say which file is newer.
    """
    shown, others = dict[int, Passage](), dict[int, Passage]()
    for versions in groups:
        latest = max(versions, key=lambda version: version.changed)
        older = next(filter(lambda version: version.changed < latest.changed, versions), None)
        for version in versions:
            passage = version.passage
            if other := latest if version.changed < latest.changed else older:
                name = other.passage.path.relative_to(folder)
                relation = "older" if other is latest else "newer"
                passage = passage._replace(note=f"{relation} than {name}")
            (shown if version in (versions[0], latest) else others)[version.id] = passage
    return dict(islice((shown | others).items(), limit))
