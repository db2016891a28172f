"""Text as it is shown, of which each character knows its position in the source."""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from textual.content import Content, Span

from tui.app.textual_private import divide_line
from tui.widgets.token_styles import COLOURED, GHOST

DRAWN = "$foreground-muted"
"""The style of what is drawn and not written, such as frames."""
TAB = 8
Ghosts = deque[tuple[int, str]]
"""Wrong guesses, and the positions of the tokens that replaced them."""


class Fragment(NamedTuple):
    """Text as it is shown, and the position in the source of each character; -1: it is drawn."""

    content: Content
    positions: Sequence[int]  # what is shown after them is drawn

    def wrapped(self, width: int) -> "list[Fragment]":
        """Return the lines of a width."""
        return self.divided(breaks(self.content.plain, width), width)

    def ending(self, count: int) -> "Fragment":
        """Return the last so many characters."""
        begin = max(0, len(self.content) - count)
        return Fragment(self.content[begin:], self.positions[begin:])

    def followed_by(self, mark: Content) -> "Fragment":
        """Return it with a mark right after its text, on the ground that goes on there."""
        end = min(len(self.positions), len(self.content))
        return Fragment(self.content[:end] + mark + self.content[end + 1 :], self.positions)

    def divided(self, offsets: Sequence[int], width: int) -> "list[Fragment]":
        """Return the lines that begin at offsets, cut to a width."""
        parts = zip(self.content.divide(offsets), pairwise([0, *offsets, None]), strict=True)
        return [
            Fragment(_line(content, end is None, width), self.positions[begin:end])
            for content, (begin, end) in parts
        ]


class FragmentBuilder:
    """Text that is written piece by piece."""

    def __init__(self, column: int = 0) -> None:
        self.plain, self.spans = "", list[Span]()
        self._column = column  # of the first line
        self._positions: list[int] = []

    def write(self, text: str, positions: Iterable[int]) -> None:
        """Append characters of the source; a tab reaches to the next eighth cell."""
        if "\t" not in text:
            self.plain += text
            self._positions += positions
            return
        for character, position in zip(text, positions, strict=True):
            line = self.plain.rfind("\n") + 1
            column = len(self.plain) - line + (0 if line else self._column)
            shown = " " * (TAB - column % TAB) if character == "\t" else character
            self.plain += shown
            self._positions += [position] * len(shown)

    def style(self, style: str, begin: int) -> None:
        """Give everything from a place on a style."""
        if style and begin < len(self.plain):
            self.spans.append(Span(begin, len(self.plain), style))

    def fragment(self, offset: int) -> Fragment:
        """Return the text; `offset` is added to each position."""
        return Fragment(Content(self.plain, self.spans), [at + offset for at in self._positions])


def plain(text: str, position: int, column: int = 0) -> Fragment:
    """Return a line of the source, or what is in it from a column on, as it is written."""
    line = FragmentBuilder(column)
    line.write(text, range(len(text)))
    return line.fragment(position)


def drawn(text: str, style: str = DRAWN) -> Fragment:
    """Return a text that is not in the source."""
    return Fragment(Content.styled(text, style), [-1] * len(text))


def joined(parts: Iterable[Fragment]) -> Fragment:
    """Return fragments as one."""
    contents, positions = list[Content](), list[int]()
    for content, known in parts:
        contents.append(content)
        positions += [*known, *[-1] * (len(content) - len(known))][: len(content)]
    return Fragment(Content("").join(contents), positions)


def with_ghosts(fragment: Fragment, ghosts: Ghosts, everything: bool = False) -> Fragment:
    """Return a fragment with the wrong guesses before the tokens that replaced them."""
    content, positions = fragment.content, [*fragment.positions]
    last = max(positions, default=-1)
    while ghosts and (everything or ghosts[0][0] <= last):
        at, text = ghosts.popleft()
        index = next((i for i, p in enumerate(positions) if p >= at), len(positions))
        content = content[:index] + Content.styled(text, COLOURED[GHOST]) + content[index:]
        positions[index:index] = [-1] * len(text)
    return Fragment(content, positions)


def breaks(text: str, width: int) -> list[int]:
    """Return where the second line of a text begins, and each after it."""
    found, begin = list[int](), 0
    for paragraph in text.split("\n"):
        found += [begin] * (begin > 0) + [begin + at for at in divide_line(paragraph, width)]
        begin += len(paragraph) + 1
    return found


def _line(content: Content, is_last: bool, width: int) -> Content:
    """Return a line without the space that the next one begins after."""
    if content.plain.endswith("\n"):
        content = content[:-1]
        is_last = True
    content = content.rstrip_end(width) if is_last else content.rstrip()
    return content.truncate(width)
