"""A stretch of changed lines, as it is shown in the shell and in the chat."""

from rich.text import Text

from assistant.edit.comparison import Comparison, Hunk
from tui.safe import safe

STYLES = {" ": "dim", "+": "green", "-": "red"}


def drawn(hunk: Hunk) -> Text:
    """Return a hunk below its place in the file."""
    lines = [Text(safe(sign + text).expandtabs(4), STYLES[sign]) for sign, text in hunk.lines]
    return Text("\n").join([Text(f"line {hunk.start}", "cyan"), *lines])


def counts(comparison: Comparison) -> str:
    """Return how many lines were added and removed."""
    return f"+{comparison.count('+')} −{comparison.count('-')}"
