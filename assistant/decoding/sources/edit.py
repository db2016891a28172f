"""A text that is being edited as a draft source: it copies from the old version."""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assistant.decoding.sources.draft import Run, Source

BLANK = b" \t\r"
LINE_BYTES = 256  # bytes of the new text's last line that are tokenised with the copied text
MAX_NEW_WORDS = 2  # new words after which the old text may still continue within the line
EDGES = (1, 2, 4, 8, 16, 32, 64)  # of the buckets, in words in a row that matched
NAME = re.compile(rb"[\w\x80-\xff]+")
WORD = re.compile(rb"([ \t\r]*)([\w\x80-\xff]+|[^ \t\r])")
MAX_OLD_BYTES = 400_000  # bytes of an old text that are aligned; no context holds so much
# Costs of an alignment. Doubling or halving one makes almost no difference.
INSERTED, REPLACED, DELETED, SKIPPED, JUMP = 0.2, 0.5, 0.5, 0.02, 4.0
MARK, USUAL, RARE = 0.15, 0.3, 0.7  # scores of a match: of a mark, of a name, more if it is rare
SETTLED = 6  # matches in a row after which other positions are dropped


class Position(NamedTuple):
    """Where a new text stands in the old one."""

    word_index: int  # of the old word that is expected next
    run: int = 0  # how many words in a row matched
    missed: int = 0  # how many have not matched since
    scores: npt.NDArray[np.float32] | None = None  # of every position, while it is uncertain


class Alignment:
    """Predicts the next word of a new text from the old one.

    Names, marks and line ends are words; blanks belong to the word after them. As long as words
    match, a position is a number. From the first mismatch on, all positions are scored, with one
    row of Needleman and Wunsch 1970 for each new word, until the best one has matched often enough.
    """

    def __init__(self, old: bytes) -> None:
        parts = WORD.findall(old[:MAX_OLD_BYTES])
        self._blanks, self._words = [blank for blank, _ in parts], [word for _, word in parts]
        self._ids: dict[bytes, int] = {}
        self._expected = np.array([self._id(word) for word in self._words], np.int64)
        times = Counter(self._words)
        scores = [_match_score(word, times[word]) for word in self._words]
        self._match_scores = np.array(scores, np.float32)
        self._skips = np.arange(len(parts) + 1, dtype=np.float32) * SKIPPED
        self._replaced: dict[bytes, bytes] = {}
        self._shift = 0  # blanks by which lines are indented further
        self._matched, self._unmatched = 0, list[bytes]()  # old words until a match, new ones since

    def expected(self, index: int) -> bytes:
        """Return the old word at an index with its replacement applied; nothing at the end."""
        word = self._words[index] if index < len(self._words) else b""
        return self._replaced.get(word, word)

    def after(self, position: Position, word: bytes) -> Position:
        """Return the position after one more word of the new text."""
        index, run, missed, scores = position
        if scores is None:
            if word == self.expected(index):
                return Position(index + 1, run + 1)
            scores = np.full(len(self._words) + 1, -JUMP, np.float32)
            scores[index] = 0
        same = self._expected == self._ids.get(word)
        paired = scores[:-1] + np.where(same, self._match_scores, np.float32(-REPLACED))
        new = scores - np.float32(INSERTED)
        np.maximum(new[1:], paired, out=new[1:])
        np.maximum(new, np.maximum.accumulate(new + self._skips) - self._skips - DELETED, out=new)
        np.maximum(new, new.max() - JUMP, out=new)
        best = int(new.argmax())
        if best and same[best - 1] and new[best] == paired[best - 1]:
            run = 1 if missed or best != index + 1 else run + 1
            return Position(best, run, 0, new if run < SETTLED else None)
        # A name that stands where a name was expected has usually replaced it.
        are_names = NAME.match(word) and NAME.match(self.expected(index))
        is_replaced = bool(are_names) and not missed and best == index
        return Position(best + is_replaced, 0, missed + 1, new)

    def update(self, position: Position, blank: bytes, word: bytes) -> None:
        """Update replaced names and the indentation by a word, and the position after it."""
        if not position.run:
            self._unmatched.append(word)
            return
        index = position.word_index - 1
        old_words = self._words[self._matched : index]
        if len(old_words) == len(self._unmatched):
            for old, new in zip(old_words, self._unmatched, strict=True):
                if NAME.match(old) and NAME.match(new):
                    self._replace(old, new)
        if self._begins_line(index):
            self._shift = len(blank) - len(self._blanks[index])
        self._matched, self._unmatched = position.word_index, []

    def ahead(self, index: int, length: int) -> bytes:
        """Return about `length` bytes, in whole words, that are expected from an index on."""
        text, end = bytearray(), index
        while len(text) < length and end < len(self._words):
            blank, shift = self._blanks[end], self._shift if self._begins_line(end) else 0
            text += blank[: len(blank) + min(0, shift)] + b" " * shift + self.expected(end)
            end += 1
        return bytes(text)

    def _begins_line(self, index: int) -> bool:
        return self._words[index] != b"\n" and (not index or self._words[index - 1] == b"\n")

    def _id(self, word: bytes) -> int:
        return self._ids.setdefault(word, len(self._ids))

    def _replace(self, old: bytes, new: bytes) -> None:
        if self._replaced.get(old, old) != new:
            self._replaced[old] = new
            self._expected[[word == old for word in self._words]] = self._id(new)


def _match_score(word: bytes, times: int) -> float:
    """Return the score of a matching word: 0 for a line's end, the highest for a rare name."""
    if NAME.match(word):
        return USUAL + RARE / times
    return 0.0 if word == b"\n" else MARK


class NewText(NamedTuple):
    """The state of the alignment after the new text so far."""

    position: Position = Position(0)
    last: bytes = b""  # word, with the blanks before it: it may be incomplete
    tail: bytes = b"\n"  # the end of the text


class EditSource(Source):
    """Copy from an `old` text that is being edited, with the same names replaced.

    The new text has the tokens from `start` on; `piece` returns the bytes of a token, and
    `tokenize` the tokens of a text: the neighbours of a replaced name may be other tokens.
    """

    name = "edit"

    def __init__(
        self,
        old: str,
        start: int,
        piece: Callable[[int], bytes],
        tokenize: Callable[[str], list[int]],
    ) -> None:
        self._old = Alignment(old.encode("utf-8", "replace"))
        self._read, self._new = start, NewText()
        self._piece, self._tokenize = piece, tokenize

    def read(self, tokens: Sequence[int]) -> None:
        """Align the new tokens, and note which names they replace."""
        self._new = self._after(tokens, is_final=True)
        self._read = len(tokens)

    def offer(self, tokens: Sequence[int], budget: int) -> Run | None:
        """Offer up to `budget` tokens of the old text, unless the position is uncertain."""
        position, last, tail = self._after(tokens)
        word = last.lstrip(BLANK)
        is_expected = self._old.expected(position.word_index).startswith(word)
        if not is_expected:
            position, last = self._old.after(position, word), b""
        text = self._old.ahead(position.word_index, 6 * budget + len(last))
        is_within_line = tail.rstrip(BLANK)[-1:] != b"\n"
        if position.missed and is_within_line and not (word and is_expected):
            ends_name = NAME.match(tail[-1:]) and not NAME.match(text.lstrip(BLANK))
            if position.missed > MAX_NEW_WORDS or not ends_name:
                return None
        text = text[len(last) :] if text.startswith(last) else text.lstrip(BLANK)[len(word) :]
        run = self._tokens_of(tail[tail.rfind(b"\n") :], text)[:budget]
        buckets = tuple(bisect(EDGES, position.run + i) for i in range(len(run)))
        return Run(self.name, tuple(run), buckets) if run else None

    def _after(self, tokens: Sequence[int], is_final: bool = False) -> NewText:
        position, last, tail = self._new
        for token in tokens[self._read :]:
            piece = self._piece(token)
            text, read, tail = last + piece, 0, (tail + piece)[-LINE_BYTES:]
            for match in WORD.finditer(text):
                if match.end() == len(text) and NAME.match(match[2]):  # it may be incomplete
                    break
                position, read = self._old.after(position, match[2]), match.end()
                if is_final:
                    self._old.update(position, *match.groups())
            last = text[read:]
        return NewText(position, last, tail)

    def _tokens_of(self, line: bytes, text: bytes) -> list[int]:
        """Return the tokens of a text that continues a line; none if a token spans both."""
        for before in (line, b""):
            tokens = self._tokenize((before + text).decode("utf-8", "ignore"))
            sizes = [*accumulate(len(self._piece(token)) for token in reversed(tokens))]
            if len(text) in sizes:
                return tokens[-sizes.index(len(text)) - 1 :]
        return []
