"""The progress of an answer before its first token: its models are loaded, its prompt is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from time import monotonic

from assistant.events import Loading, Prefilled
from assistant.session.attachments import ReadingLimits
from assistant.store.values import Attachment
from tui.formatting import duration, remaining
from tui.labels import model_name, plural

NOT_FIT = "does not fit into the context"
ESTIMATE_AFTER_S = 1.0  # seconds of reading after which the remaining time is shown


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
        """Return the progress of loading, or of a prefill with the remaining time."""
        if isinstance(event, Loading):
            verb = "loading" if event.fraction < 1 else "preparing"
            position = "2 of 2: " if event.role == "draft" else ""
            return Activity(f"{verb} {position}{model_name(event.name)}", event.fraction)
        last, now = self._last, monotonic()
        if (event.role, event.total) != (last.role, last.total) or event.done <= last.done:
            self._first, self._started = event, now
        self._last = event
        read, rest = event.done - self._first.done, event.total - event.done
        is_sure = read and rest and now - self._started > ESTIMATE_AFTER_S
        rest_s = remaining(rest * (now - self._started) / read if is_sure else None)
        verb = "reading" if event.role == "target" else "the guessing model reads"
        text = f"{verb} {what}: {event.done:,} of {plural(event.total, 'token')}{rest_s}"
        if event.role == "target" and not rest:
            text = f"{what} is read, the first word is next"
        return Activity(text, event.done / event.total if event.total else 1.0)


def as_sent(
    files: Sequence[Attachment], sizes: Sequence[int], limits: ReadingLimits
) -> tuple[list[Attachment], list[str]]:
    """Return files as they are sent, and why only parts of some; `sizes` are in tokens."""
    sent, reasons = list[Attachment](), list[str]()
    for file, long_s in zip(files, limits.excess((size, False) for size in sizes), strict=True):
        sent.append(file.by_passages if long_s else file)
        why = f"would take {duration(long_s)} to read" if long_s < inf else NOT_FIT
        reasons += [f"{file.name} {why}: asked by its passages."] if long_s else []
    return sent, reasons
