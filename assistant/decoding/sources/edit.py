"""A text that is being edited as a draft source: what comes next in the old version."""

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from assistant.decoding.sources.alignment import NAME, WORD, Alignment, Place
from assistant.decoding.sources.draft import Copying, Run

BLANK = b" \t\r"
LINE = 256  # bytes of the new text's last line that tokens are made with
FEW = 2  # new words after which the old text may still go on within the line
EDGES = (1, 2, 4, 8, 16, 32, 64)  # of the classes of evidence, in words that were as expected


class Reading(NamedTuple):
    """A new text, as far as it has been read."""

    place: Place = Place(0)
    word: bytes = b""  # the last, with the blanks before it, as it may go on
    line: bytes = b"\n"  # the end of the text


class EditSource(Copying):
    """Copy what follows in an `old` text that is being edited, with the same names replaced.

    The new text has the tokens from `begin` on; `piece` returns the bytes of a token, and
    `tokenize` the tokens of a text: where a name is replaced its neighbours may be other tokens.
    """

    name = "edit"

    def __init__(
        self,
        old: str,
        begin: int,
        piece: Callable[[int], bytes],
        tokenize: Callable[[str], list[int]],
    ) -> None:
        self._old = Alignment(old.encode("utf-8", "replace"))
        self._read, self._reading = begin, Reading()
        self._piece, self._tokenize = piece, tokenize

    def read(self, tokens: Sequence[int]) -> None:
        """Follow what is new, and learn from it what was replaced."""
        self._reading = self._after(tokens, learns=True)
        self._read = len(tokens)

    def offer(self, tokens: Sequence[int], room: int) -> Run | None:
        """Offer up to `room` tokens of what comes next in the old text, unless that is unclear."""
        place, last, line = self._after(tokens)
        word = last.lstrip(BLANK)
        fits = self._old.expected(place.at).startswith(word)
        if not fits:
            place, last = self._old.after(place, word), b""
        text = self._old.ahead(place.at, 6 * room + len(last))
        if place.missed and not (word and fits) and line.rstrip(BLANK)[-1:] != b"\n":
            within_name = NAME.match(line[-1:]) and not NAME.match(text.lstrip(BLANK))
            if place.missed > FEW or not within_name:
                return None
        text = text[len(last) :] if text.startswith(last) else text.lstrip(BLANK)[len(word) :]
        run = self._spelt(line[line.rfind(b"\n") :], text)[:room]
        evidence = tuple(strength(place.run + i) for i in range(len(run)))
        return Run(self.name, tuple(run), evidence) if run else None

    def _after(self, tokens: Sequence[int], learns: bool = False) -> Reading:
        place, last, line = self._reading
        for token in tokens[self._read :]:
            piece = self._piece(token)
            text, read, line = last + piece, 0, (line + piece)[-LINE:]
            for found in WORD.finditer(text):
                if found.end() == len(text) and NAME.match(found[2]):
                    break
                place, read = self._old.after(place, found[2]), found.end()
                if learns:
                    self._old.learn(place, *found.groups())
            last = text[read:]
        return Reading(place, last, line)

    def _spelt(self, line: bytes, text: bytes) -> list[int]:
        """Return the tokens of a text after the beginning of its line; none if they overlap."""
        for before in (line, b""):
            tokens = self._tokenize((before + text).decode("utf-8", "ignore"))
            sizes = [*accumulate(len(self._piece(token)) for token in reversed(tokens))]
            if len(text) in sizes:
                return tokens[-sizes.index(len(text)) - 1 :]
        return []


def strength(run: int) -> int:
    """Return the class of a word after so many that were as expected."""
    return sum(run >= edge for edge in EDGES)
