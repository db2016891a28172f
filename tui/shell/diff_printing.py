"""The change of a file, drawn hunk by hunk, and printed while the new version is generated."""

from collections.abc import Sequence
from time import monotonic

from rich.console import Console
from rich.live import Live
from rich.text import Text

from assistant.edit.comparison import Hunk, compare
from assistant.edit.part import Part
from tui.formatting import remaining
from tui.safe import safe

STYLES = {" ": "dim", "+": "green", "-": "red"}
MAX_PENDING = 8
"""Lines of a hunk that are shown while it may still change."""
UPDATE_EVERY_S = 0.1
"""Seconds between two updates: faster ones cannot be read."""
PAUSE_FACTOR = 10
"""How many times longer than an update the pause after it is: the engine needs the processor."""


class DiffPrinting:
    """Print the change from the `old` lines of a file, of which a part is generated again.

    On a terminal a hunk is printed once it is settled; below, a live area shows the hunk that may
    still change, and the progress. Without a terminal all of it is printed at the end.
    """

    def __init__(self, console: Console, old: Sequence[str], part: Part) -> None:
        self._console, self._above, self._expected = console, old[: part.start], len(range(*part))
        self._old = old if [*old] != [""] else ()  # an empty file has no line
        self._live = Live(console=console, transient=True, auto_refresh=False)
        self._printed: list[Hunk] = []
        self._started, self._next_s = monotonic(), 0.0

    def show(self, written: Sequence[str]) -> None:
        """Show the new version with these lines of the part, as far as it is."""
        started_s = monotonic()
        if not self._console.is_terminal or started_s < self._next_s:
            return
        self._live.start()
        hunks = compare(self._old, [*self._above, *written], is_whole=False)
        later = self._print_settled(hunks)
        height = max(1, min(MAX_PENDING, self._console.height - 2))  # one line is the progress
        pending = [line for hunk in later for line in draw_hunk(hunk).split("\n")][-height:]
        lines = [*pending, self._progress(hunks, len(written))]
        self._live.update(Text("\n", no_wrap=True, overflow="ellipsis").join(lines), refresh=True)
        self._next_s = monotonic() + max(UPDATE_EVERY_S, PAUSE_FACTOR * (monotonic() - started_s))

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._live.stop()

    def end(self, new: Sequence[str]) -> list[Hunk]:
        """Print the remaining hunks, all again if printed ones have changed; return all of them."""
        hunks = compare(self._old, new)
        if hunks[: len(self._printed)] != self._printed:
            self._console.print("The whole change, as it is now:", style="bold")
            self._printed = []
        self._print_settled(hunks)
        return hunks

    def _print_settled(self, hunks: list[Hunk]) -> list[Hunk]:
        """Print the next hunks that are settled, and return the others."""
        new = hunks[len(self._printed) :]
        while new and new[0].is_settled:
            self._printed.append(new.pop(0))
            self._console.print(draw_hunk(self._printed[-1]), soft_wrap=True)
        return new

    def _progress(self, hunks: list[Hunk], written: int) -> Text:
        # The part has grown up to the last line that is an old one as well.
        signs = "".join(line.sign for hunk in hunks for line in hunk.lines).rstrip("+")
        left = self._expected + signs.count("+") - signs.count("-") - written
        total = f" of about {written + left}" if left > 0 else ""
        took_s = monotonic() - self._started
        left_s = took_s * left / written if total and written > 2 else None
        return Text(f"line {written}{total} · {counts(hunks)}{remaining(left_s)}", "dim")


def draw_hunk(hunk: Hunk) -> Text:
    """Return a hunk below its line number in the file."""
    lines = [Text(safe(sign + text).expandtabs(4), STYLES[sign]) for sign, text in hunk.lines]
    return Text("\n").join([Text(f"line {hunk.start}", "cyan"), *lines])


def counts(hunks: Sequence[Hunk]) -> str:
    """Return how many lines were added and removed."""
    signs = [line.sign for hunk in hunks for line in hunk.lines]
    return f"+{signs.count('+')} −{signs.count('-')}"
