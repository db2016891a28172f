"""Two versions of a text, aligned while the new one is being written."""

import re
from collections import Counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

NAME = re.compile(rb"[\w\x80-\xff]+")
WORD = re.compile(rb"([ \t\r]*)([\w\x80-\xff]+|[^ \t\r])")
LONGEST = 400_000  # bytes of an old text that are followed; no context holds so much
# What an alignment costs. Twice as much or half of it makes next to no difference.
INSERTED, REPLACED, DELETED, SKIPPED, JUMP = 0.2, 0.5, 0.5, 0.02, 4.0
MARK, USUAL, RARE = 0.15, 0.3, 0.7  # what a match is worth: of a mark, of a name, if it stands once
SURE = 6  # words as expected, after which other places are no longer weighed


class Place(NamedTuple):
    """How far a new text has come in the old one."""

    at: int  # the old word that is expected next
    run: int = 0  # how many words were as expected, one after another
    missed: int = 0  # how many were not, since the last that was
    scores: npt.NDArray[np.float32] | None = None  # of every place, where there is doubt


class Alignment:
    """An old text, and which of its words comes next in a new one.

    Names, marks and line ends are words; blanks belong to the word after them. As long as words are
    as expected, a place is a number. From the first that is not, all places are weighed, with one
    row of Needleman and Wunsch 1970 for each new word, until the best has proved right.
    """

    def __init__(self, old: bytes) -> None:
        found = WORD.findall(old[:LONGEST])
        self._blanks, self._words = [blank for blank, _ in found], [word for _, word in found]
        self._ids: dict[bytes, int] = {}
        self._expected = np.array([self._id(word) for word in self._words], np.int64)
        times = Counter(self._words)
        worth = [_worth(word, times[word]) for word in self._words]
        self._worth = np.array(worth, np.float32)
        self._skips = np.arange(len(found) + 1, dtype=np.float32) * SKIPPED
        self._replaced: dict[bytes, bytes] = {}
        self._shift = 0  # blanks by which lines are indented further
        self._matched, self._between = 0, list[bytes]()  # the new words since the last match

    def expected(self, at: int) -> bytes:
        """Return the old word at a place as it will be written; nothing at the end."""
        word = self._words[at] if at < len(self._words) else b""
        return self._replaced.get(word, word)

    def after(self, place: Place, word: bytes) -> Place:
        """Return the place after one more word of the new text."""
        at, run, missed, scores = place
        if scores is None:
            if word == self.expected(at):
                return Place(at + 1, run + 1)
            scores = np.full(len(self._words) + 1, -JUMP, np.float32)
            scores[at] = 0
        same = self._expected == self._ids.get(word)
        paired = scores[:-1] + np.where(same, self._worth, np.float32(-REPLACED))
        new = scores - np.float32(INSERTED)
        np.maximum(new[1:], paired, out=new[1:])
        np.maximum(new, np.maximum.accumulate(new + self._skips) - self._skips - DELETED, out=new)
        np.maximum(new, new.max() - JUMP, out=new)
        best = int(new.argmax())
        if best and same[best - 1] and new[best] == paired[best - 1]:
            run = 1 if missed or best != at + 1 else run + 1
            return Place(best, run, 0, new if run < SURE else None)
        # Where a name was expected, a name has replaced it as a rule.
        replaces = not missed and best == at and NAME.match(word) and NAME.match(self.expected(at))
        return Place(best + bool(replaces), 0, missed + 1, new)

    def learn(self, place: Place, blank: bytes, word: bytes) -> None:
        """Learn what was replaced, and how lines are indented, from a word that led to a place."""
        if not place.run:
            self._between.append(word)
            return
        at, lost = place.at - 1, self._words[self._matched : place.at - 1]
        if len(lost) == len(self._between):
            for before, after in zip(lost, self._between, strict=True):
                if NAME.match(before) and NAME.match(after):
                    self._replace(before, after)
        if self._begins_line(at):
            self._shift = len(blank) - len(self._blanks[at])
        self._matched, self._between = place.at, []

    def ahead(self, at: int, length: int) -> bytes:
        """Return about `length` bytes, in whole words, of what is expected from a place on."""
        text, end = bytearray(), at
        while len(text) < length and end < len(self._words):
            blank, shift = self._blanks[end], self._shift if self._begins_line(end) else 0
            text += blank[: len(blank) + min(0, shift)] + b" " * shift + self.expected(end)
            end += 1
        return bytes(text)

    def _begins_line(self, at: int) -> bool:
        return self._words[at] != b"\n" and (not at or self._words[at - 1] == b"\n")

    def _id(self, word: bytes) -> int:
        return self._ids.setdefault(word, len(self._ids))

    def _replace(self, old: bytes, new: bytes) -> None:
        if self._replaced.get(old, old) != new:
            self._replaced[old] = new
            self._expected[[word == old for word in self._words]] = self._id(new)


def _worth(word: bytes, times: int) -> float:
    """Return what a match of a word is worth: nothing at a line's end, most for a rare name."""
    if NAME.match(word):
        return USUAL + RARE / times
    return 0.0 if word == b"\n" else MARK
