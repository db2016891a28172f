"""Of which kind the token is that a position of a text belongs to."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import groupby

from textual.content import Content, Span

from assistant.events import Origin
from tui.chat.conversation.fragment import Fragment
from tui.widgets.token_styles import GHOST, Kind, Run, Styles


class TokenKinds:
    """Append runs; neighbours of one kind are stored as one."""

    def __init__(self) -> None:
        self._ends: list[int] = []  # where each run ends in the text
        self._kinds: list[Kind] = []

    def add(self, runs: Iterable[Run]) -> bool:
        """Append runs, without wrong guesses; return whether a kind among them is new."""
        before, end = self.all, self._ends[-1] if self._ends else 0
        for text, kind in runs:
            if kind == GHOST or not text:
                continue
            if self._kinds and self._kinds[-1] == kind:
                self._ends.pop()
            else:
                self._kinds.append(kind)
            end += len(text)
            self._ends.append(end)
        return self.all != before

    def at(self, position: int) -> Kind:
        """Return the kind at a position; what is drawn (-1) looks as if it was not guessed."""
        return self._kinds[bisect_right(self._ends, position)] if position >= 0 else Origin.TARGET

    @property
    def all(self) -> set[Kind]:
        """All kinds that there are."""
        return {*self._kinds}

    def coloured(self, line: Fragment, styles: Styles) -> Content:
        """Return a line with the styles of its tokens over those of its format."""
        spans, begin = list[Span](), 0
        for kind, group in groupby(map(self.at, line.positions[: len(line.content)])):
            end = begin + len([*group])
            spans += [Span(begin, end, style)] if (style := styles[kind]) else []
            begin = end
        return Content(line.content.plain, [*line.content.spans, *spans])
