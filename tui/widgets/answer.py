"""An answer as it streams."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from assistant.events import Token
from tui.widgets.origins import Run, extend, styled, styles

CHUNK, LONGEST = 1500, 4000
"""Characters after which the text goes on in a new widget, at the end of a line, or anywhere when
no line ends. What is laid out again in every round is no longer than this, however long the answer.
"""

CARET = Content.styled("▍", "$accent")


class Answer(Vertical):
    """Show every token in the style of its origin."""

    def __init__(self) -> None:
        super().__init__(classes="answer")
        self.tokens: list[Token] = []
        self._runs: list[Run] = []  # of the last chunk
        self._chunk = _chunk(CARET)
        self._footnote = Static(classes="footnote", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the first chunk and the line below the answer."""
        yield self._chunk
        yield self._footnote

    def add(self, tokens: Sequence[Token]) -> None:
        """Append what one round yielded."""
        self.tokens.extend(tokens)
        extend(self._runs, tokens)
        while (cut := _cut(self._runs)) is not None:
            self._split(*cut)
        self._chunk.update(self._styled(self._runs) + CARET)

    def finish(self, footnote: str) -> None:
        """Take the caret away and say below how the answer came about."""
        self._chunk.update(self._styled(self._runs))
        self._chunk.display = bool(self._runs)
        self._footnote.update(footnote)
        self._footnote.display = bool(footnote)

    def _split(self, done: list[Run], rest: list[Run]) -> None:
        self._chunk.update(self._styled(done))
        self._runs, self._chunk = rest, _chunk(self._styled(rest))
        self.mount(self._chunk, before=self._footnote)

    def _styled(self, runs: list[Run]) -> Content:
        return styled(runs, styles(self.app.no_color))


def _chunk(content: Content) -> Static:
    return Static(content, classes="chunk", markup=False)


def _cut(runs: list[Run]) -> tuple[list[Run], list[Run]] | None:
    """Part runs that have grown too long at their last line break, which the layout replaces."""
    length = sum(len(text) for text, _ in runs)
    if length <= CHUNK:
        return None
    for i in range(len(runs) - 1, -1, -1):
        text, origin = runs[i]
        if (at := text.rfind("\n")) >= 0:
            rest = [(text[at + 1 :], origin), *runs[i + 1 :]]
            return [*runs[:i], (text[:at], origin)], [run for run in rest if run[0]]
    return (runs, []) if length > LONGEST else None
