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
    """Print some answers in their order, each under a heading unless there is one alone.

    The first that is not over streams. What others say meanwhile is printed when it is their turn.
    """

    def __init__(self, quiet: bool, count: int, thoughts: bool = False) -> None:
        self._out = Output(quiet=quiet, highlight=False, markup=False, soft_wrap=True)
        self._styles = PLAIN if self._out.no_color else COLOURED
        self._waiting: list[list[Token]] = [[] for _ in range(count)]
        self._over = [False] * count
        self._thoughts = thoughts  # whether they are printed, too
        self._thinks = False  # whether what was printed last is one
        self._turn = 0  # whose it is
        self._begun = False  # whether that one has its heading

    def add(self, number: int, tokens: Sequence[Token]) -> None:
        """Print tokens of an answer, now or when it is its turn."""
        parts = ("answer", "thought") if self._thoughts else ("answer",)
        self._waiting[number] += (token for token in tokens if token.part in parts)
        if number == self._turn and self._waiting[number]:
            self._print()

    def end(self, number: int) -> None:
        """Note that an answer is over, and print what waited for that."""
        self._over[number] = True
        while self._turn < len(self._over) and self._over[self._turn]:
            self._print()
            self._out.print()
            self._turn, self._begun, self._thinks = self._turn + 1, False, False
        if self._turn < len(self._over):
            self._print()

    def end_all(self) -> None:
        """Note that no answer continues; if none has begun, nothing is printed."""
        if self._begun or any(self._waiting):
            for number, over in enumerate(self._over):
                if not over:
                    self.end(number)

    def _print(self) -> None:
        tokens, self._waiting[self._turn] = self._waiting[self._turn], []
        if not self._begun:
            self._begun = True
            if len(self._over) > 1:
                above = "\n" if self._turn else ""
                self._out.print(Text(f"{above}--- {self._turn + 1} of {len(self._over)} ---"))
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
