"""A change of a file, printed while it is written: hunk by hunk, with what comes below."""

from collections.abc import Sequence
from time import monotonic

from rich.console import Console
from rich.live import Live
from rich.text import Text

from assistant.edit.comparison import Comparison, Hunk, compare
from tui.widgets.hunks import counts, drawn
from tui.widgets.text_figures import left

PENDING = 8
"""Lines of a hunk that are shown while it may still change."""
EVERY_S = 0.1
"""Seconds between two looks: nobody reads faster."""
SHARE = 10
"""How many times as long as it looked it waits at least, so that the engine has the machine."""


class DiffPrinting:
    """Print the change from the `old` lines of a file to those that are being written.

    On a terminal a hunk is printed when it is settled; what may still change is shown below, with
    how far it is. Elsewhere all of it is printed at the end.
    """

    def __init__(self, console: Console, old: Sequence[str], expected: int) -> None:
        self._console, self._old, self._expected = console, old, expected
        self._live = Live(console=console, transient=True, auto_refresh=False)
        self._printed: list[Hunk] = []
        self._began, self._next_s = monotonic(), 0.0

    def show(self, new: Sequence[str], written: int) -> None:
        """Show what there is of the new version, of which so many lines were written."""
        began_s = monotonic()
        if not self._console.is_terminal or began_s < self._next_s:
            return
        self._live.start()
        comparison = compare(self._old, new, is_whole=False)
        later = self._print_settled(comparison)
        room = max(1, min(PENDING, self._console.height - 2))  # and how far it is
        pending = [line for hunk in later for line in drawn(hunk).split("\n")][-room:]
        lines = [*pending, self._progress(comparison, written)]
        self._live.update(Text("\n", no_wrap=True, overflow="ellipsis").join(lines), refresh=True)
        self._next_s = monotonic() + max(EVERY_S, SHARE * (monotonic() - began_s))

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._live.stop()

    def end(self, new: Sequence[str]) -> Comparison:
        """Print what was not printed; all of it again where that has changed."""
        comparison = compare(self._old, new)
        if list(comparison.hunks[: len(self._printed)]) != self._printed:
            self._console.print("All of it, as it is now:", style="bold")
            self._printed = []
        self._print_settled(comparison)
        return comparison

    def _print_settled(self, comparison: Comparison) -> list[Hunk]:
        """Print the next hunks that are settled, and return those after them."""
        new = list(comparison.hunks[len(self._printed) :])
        while new and new[0].is_settled:
            hunk = new.pop(0)
            self._printed.append(Hunk(hunk.start, hunk.lines, True))
            self._console.print(drawn(hunk), soft_wrap=True)
        return new

    def _progress(self, comparison: Comparison, written: int) -> Text:
        share = min(1.0, written / max(self._expected, 1))
        took_s = monotonic() - self._began
        time_left = left(took_s * (1 - share) / share) if written > 2 else ""
        text = f"line {written} of about {self._expected} · {counts(comparison)}{time_left}"
        return Text(text, "dim")
