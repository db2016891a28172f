"""Answers on standard output, one below another, as they come in."""

from collections.abc import Sequence

from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style
from rich.text import Text

from assistant.events import Origin, Token
from tui.safe import safe

# Attributes survive where colours do not, so without colours each origin has one.
COLOURED = {Origin.DRAFT: "green", Origin.RESIDUAL: "yellow", Origin.TARGET: ""}
DIM = Style(dim=True)
PLAIN = {Origin.DRAFT: "underline", Origin.RESIDUAL: "bold", Origin.TARGET: ""}


class Output(Console):
    """A console that leaves it to the caller what to do when its reader has gone."""

    def on_broken_pipe(self) -> None:
        """Raise the error again, where rich would exit."""
        raise


class Printing:
    """Print answers as they come, one after another, each under a heading unless it is alone."""

    def __init__(self, quiet: bool, count: int, thoughts: bool = False) -> None:
        self._out = Output(quiet=quiet, highlight=False, markup=False, soft_wrap=True)
        self._styles = PLAIN if self._out.no_color else COLOURED
        self._count = count
        self._parts = ("answer", "thought") if thoughts else ("answer",)
        self._thinks = False  # whether what was printed last is a thought
        self._open = False  # whether an answer has begun and is not over

    def add(self, number: int, tokens: Sequence[Token]) -> None:
        """Print tokens of an answer."""
        if printed := [token for token in tokens if token.part in self._parts]:
            self._print(number, printed)

    def end(self, number: int) -> None:
        """Note that an answer is over."""
        self._print(number, ())
        self.end_all()

    def end_all(self) -> None:
        """Note that no answer continues; if none has begun, nothing is printed."""
        if self._open:
            self._out.print()
        self._open = self._thinks = False

    def _print(self, number: int, tokens: Sequence[Token]) -> None:
        if not self._open and self._count > 1:
            above = "\n" if number else ""
            self._out.print(Text(f"{above}--- {number + 1} of {self._count} ---"))
        self._open = True
        for token in tokens:
            style = self._out.get_style(self._styles[token.origin])
            thinks = token.part == "thought"
            if thinks:
                style += DIM
            elif self._thinks:
                self._out.print("\n")
            self._thinks = thinks
            # Text would make spaces of tabs.
            self._out.print(Segments([Segment(safe(token.text), style)]), end="")
        self._out.file.flush()
