"""The line below a stored answer."""

from typing import TYPE_CHECKING

from tui.figures import figures

if TYPE_CHECKING:
    from assistant.store.values import Record

MARKS = {
    "stopped": "stopped",
    "failed": "not finished",
    "length": "cut at the length limit",
    "context": "cut: the context is full",
    "interrupted": "interrupted: the program ended before the answer did",
}
"""What is said of an answer's end, by why it stopped or else by its state."""


def footnote_of(record: "Record") -> str:
    """Return how an answer came about."""
    mark = MARKS.get(record.stop or "") or MARKS.get(record.state)
    parts = [mark] if mark else []
    if not record.content and record.state == "complete":
        parts.append("the model ended its turn without a word")
    return " · ".join([*parts, *(figures(record.stats) if record.stats else [])])
