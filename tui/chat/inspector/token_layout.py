"""The place of each token of an answer when it is laid out in lines."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rich.cells import cell_len


class TokenPiece(NamedTuple):
    """A part of an entry that stands in one line, from column `start` on."""

    entry: int
    text: str
    start: int
    width: int


@dataclass
class TokenLayout:
    """Set texts in lines of `width` cells, broken before words."""

    width: int
    lines: list[list[TokenPiece]] = field(default_factory=lambda: [[]])
    places: list[int] = field(default_factory=list)  # line of each entry's first piece

    def add(self, texts: Sequence[str]) -> None:
        """Append texts; a line break ends a line."""
        for text in texts:
            index = len(self.places)
            self.places.append(-1)
            first, *others = text.split("\n")
            self._set(index, first)
            for other in others:
                self.lines.append([])
                if other:
                    self._set(index, other)

    def at(self, line: int, column: int) -> int | None:
        """Return the entry at a column, or the nearest one; None in an empty line."""
        pieces = self.lines[line] if 0 <= line < len(self.lines) else []
        found = bisect_right(pieces, column, key=lambda piece: piece.start)
        return pieces[max(found - 1, 0)].entry if pieces else None

    def column(self, index: int) -> int:
        """Return where an entry begins in its line."""
        return next(p.start for p in self.lines[self.places[index]] if p.entry == index)

    def _set(self, index: int, text: str) -> None:
        size = _cells(text)
        if size > self._room and self.lines[-1]:
            self._break(starts_word=text[:1] in (" ", "\t"))
        while size > self._room:
            head, text = _cut(text, max(self._room, 1))
            self._put(index, head)
            self.lines.append([])
            size = _cells(text)
        self._put(index, text)

    def _put(self, index: int, text: str) -> None:
        line = self.lines[-1]
        line.append(TokenPiece(index, text, self.width - self._room, _cells(text)))
        if self.places[index] < 0:
            self.places[index] = len(self.lines) - 1

    @property
    def _room(self) -> int:
        line = self.lines[-1]
        return self.width - (line[-1].start + line[-1].width if line else 0)

    def _break(self, starts_word: bool) -> None:
        """Begin a line, and take the beginning of the word along that is not at its end yet."""
        line = self.lines[-1]
        words = () if starts_word else (i for i in range(len(line) - 1, 0, -1))
        at = next((i for i in words if line[i].text.startswith(" ")), len(line))
        carried, self.lines[-1] = line[at:], line[:at]
        self.lines.append([])
        for piece in carried:
            if self.places[piece.entry] == len(self.lines) - 2:
                self.places[piece.entry] = -1
            self._put(piece.entry, piece.text)


def _cells(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def _cut(text: str, width: int) -> tuple[str, str]:
    at = len(text)
    while at > 1 and _cells(text[:at]) > width:
        at -= 1
    return text[:at], text[at:]
