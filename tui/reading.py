"""What an answer waits for: models that are loaded, then a prompt that is read."""

from dataclasses import dataclass
from time import monotonic

from assistant.events import Loading, Prefilled
from tui.formatting import left
from tui.labels import counted, model_name

SURE_S = 1.0  # seconds of reading from which on the rest is foretold


@dataclass(frozen=True, slots=True)
class Activity:
    """Something that takes time, and its progress."""

    text: str
    fraction: float


class AnswerProgress:
    """Describes the progress of an answer until its first token; see `describe`."""

    def __init__(self) -> None:
        self._first = self._last = Prefilled("target", 0, 0)
        self._started = 0.0

    def describe(self, event: Loading | Prefilled, what: str = "the prompt") -> Activity:
        """Return the progress; a prefill begins at its first event, and has the seconds left."""
        if isinstance(event, Loading):
            verb = "loading" if event.fraction < 1 else "preparing"
            return Activity(f"{verb} {model_name(event.name)}", event.fraction)
        last, now = self._last, monotonic()
        if (event.role, event.total) != (last.role, last.total) or event.done <= last.done:
            self._first, self._started = event, now
        self._last = event
        read, rest = event.done - self._first.done, event.total - event.done
        is_sure = read and rest and now - self._started > SURE_S
        rest_s = left(rest * (now - self._started) / read if is_sure else None)
        who = "reading" if event.role == "target" else "the guessing model reads"
        text = f"{who} {what}: {event.done:,} of {counted(event.total, 'token')}{rest_s}"
        if event.role == "target" and not rest:
            text = f"{what} is read, the first word is next"
        return Activity(text, event.done / event.total if event.total else 1.0)
