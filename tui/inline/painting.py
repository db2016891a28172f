"""Formatted lines as text with ANSI codes, for a terminal's own scrollback."""

import os
from collections.abc import Iterable

from rich.console import Console
from rich.segment import Segment, Segments
from textual.content import Content, Span
from textual.style import Style
from textual.theme import BUILTIN_THEMES

from tui.app.themes import legible
from tui.widgets.lines import MUTED
from tui.widgets.token_styles import COLOURED, PLAIN

LIGHT = ("7", "15")
"""What COLORFGBG ends with where the ground is light; many terminals set it."""


class Painter:
    """Paint in the colours of a theme, on the ground that the terminal has.

    Text on a ground of the theme has the theme's colour, too: together they can be read on every
    terminal.
    """

    def __init__(self, theme: str) -> None:
        self._console = Console(force_terminal=True, highlight=False, markup=False, width=1000)
        is_light = os.environ.get("COLORFGBG", "").rpartition(";")[2] in LIGHT
        name = "textual-light" if is_light and theme == "textual-dark" else theme
        self.theme = legible(BUILTIN_THEMES[name])
        can_tint = not self.theme.ansi and self._console.color_system in ("256", "truecolor")
        self.token_styles = COLOURED if can_tint else PLAIN
        """The styles of tokens by kind."""
        self._variables = self.theme.to_color_system().generate() | self.theme.variables
        self._styles: dict[str, Style] = {MUTED: Style(dim=True)}

    def __call__(self, lines: Iterable[Content]) -> str:
        """Return lines with ANSI codes, each with its line break."""
        segments = [
            Segment(text, style.rich_style)
            for line in lines
            for text, style in _with_letters(line).render(Style.null(), "\n", self._parsed)
        ]
        with self._console.capture() as capture:
            self._console.print(Segments(segments), end="", soft_wrap=True)
        return capture.get()

    def _parsed(self, style: str | Style) -> Style:
        if isinstance(style, Style):
            return style
        if style not in self._styles:
            self._styles[style] = Style.parse(style, self._variables)
        return self._styles[style]


def _with_letters(line: Content) -> Content:
    grounds = (span for span in line.spans if str(span.style).startswith("on "))
    letters = [Span(span.start, span.end, "$foreground") for span in grounds]
    return Content(line.plain, [*letters, *line.spans])
