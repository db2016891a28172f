"""An answer on standard output, as it comes in."""

from collections.abc import Sequence

from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style

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
    """Print an answer as it comes."""

    def __init__(self, quiet: bool, thoughts: bool = False) -> None:
        self._out = Output(quiet=quiet, highlight=False, markup=False, soft_wrap=True)
        self._styles = PLAIN if self._out.no_color else COLOURED
        self._parts = ("answer", "thought") if thoughts else ("answer",)
        self._thinks = False  # whether what was printed last is a thought
        self._open = False  # whether the answer has begun and is not over

    def end(self) -> None:
        """Note that the answer is over; an empty one is an empty line."""
        self._open = True
        self.cut()

    def cut(self) -> None:
        """Note that the answer does not continue; if it has not begun, nothing is printed."""
        if self._open:
            self._out.print()
        self._open = self._thinks = False

    def add(self, tokens: Sequence[Token]) -> None:
        """Print tokens of the answer."""
        for token in tokens:
            if token.part not in self._parts:
                continue
            self._open = True
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
