"""How far a model has read a prompt, and how long that still takes."""

from time import monotonic

from assistant.events import Prefilled
from tui.formatting import left
from tui.labels import counted

SURE_S = 1.0  # seconds of reading from which on the rest is foretold


class ReadingProgress:
    """Describes the progress of prefills, which begin at their first event."""

    def __init__(self) -> None:
        self._first = self._last = Prefilled("target", 0, 0)
        self._started = 0.0

    def describe(self, event: Prefilled, what: str = "the prompt") -> str:
        """Return the progress of a prefill as text, with the seconds left."""
        last, now = self._last, monotonic()
        if (event.role, event.total) != (last.role, last.total) or event.done <= last.done:
            self._first, self._started = event, now
        self._last = event
        read, rest = event.done - self._first.done, event.total - event.done
        is_sure = read and rest and now - self._started > SURE_S
        rest_s = rest * (now - self._started) / read if is_sure else None
        who = "reading" if event.role == "target" else "the guessing model reads"
        return f"{who} {what}: {event.done:,} of {counted(event.total, 'token')}{left(rest_s)}"
