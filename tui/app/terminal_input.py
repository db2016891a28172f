"""What a terminal sends: pasted text apart from keys, of which a paste holds none."""

import re
from collections.abc import Callable, Iterable, Iterator
from time import monotonic

from textual.events import Paste
from textual.message import Message

START, END = "\x1b[200~", "\x1b[201~"
"""A terminal that brackets pastes sends these around one."""
TEXT = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
REPORT = re.compile(r"(\x1b\[(?:[IO]|<[\d;]+[Mm]))")
"""The focus and the mouse, of which a terminal may report in the midst of text."""
STREAM_S = 0.005
"""Seconds between characters that no person types so fast."""
PAUSE_S = 0.02
LONGEST_KEY, LONG_TEXT = 16, 256
"""Characters of what one key may send, and of what no keys have sent."""
ENDLESS_S = 10.0
"""Seconds without a character after which a paste is over whose end has not come."""


class Burst(Paste):
    """Lines that came at once and without brackets: a paste where text is typed, else keys."""


class TerminalInput:
    """Separate pastes from keys, which `keys` parses; `pending` says whether it has begun one.

    A paste ends with the last end mark of a burst: one before it is a part of the pasted text, as
    is what looks like keys after it. Without marks, lines that arrive at once are a paste as well,
    except that a carriage return at their end is Enter.
    """

    def __init__(
        self, keys: Callable[[str], Iterable[Message]], pending: Callable[[], bool]
    ) -> None:
        self._keys, self._pending = keys, pending
        self._paste: list[str] | None = None  # None: no paste has begun
        self._ended = False  # whether an end mark of it was seen
        self._tail = ""  # the characters before, with which a mark may have begun
        self._held: list[str] = []  # text without brackets that may continue
        self._streams = False  # whether text without a line's end came last
        self._fed, self._at = False, monotonic()

    def feed(self, data: str) -> Iterator[Message]:
        """Yield what characters that were read at once mean, as far as that is known."""
        before, self._at, self._fed = self._at, monotonic(), True
        if len(data) <= LONGEST_KEY and self._at - before > PAUSE_S:  # the user presses a key
            yield from self._settle()
        self._streams &= self._at - before < STREAM_S
        if self._paste is None:
            typed, mark, data = (self._tail + data).partition(START)
            begun = len(self._tail) - len(typed)  # characters of the mark that were parsed as keys
            for piece in REPORT.split(typed[len(self._tail) :]):
                yield from self._type(piece)
            self._tail = typed[-5:]
            if not mark:
                return
            yield from self._release()
            if begun <= 0 or self._pending():
                ended = self._keys(START[max(0, begun) :] + END)
                yield from (event for event in ended if not isinstance(event, Paste))
            self._paste, self._tail = [], ""
        self._paste.append(data)
        self._ended |= END in self._tail + data
        self._tail = (self._tail + data)[-5:]

    def tick(self) -> Iterator[Message]:
        """Yield what is known because nothing more has come for a moment."""
        quiet, self._fed = not self._fed, False
        if quiet:
            self._ended |= monotonic() - self._at > ENDLESS_S
            yield from self._settle()

    def _settle(self) -> Iterator[Message]:
        yield from self._release()
        if self._paste is not None and self._ended:
            text, mark, rest = "".join(self._paste).rpartition(END)
            if not mark:
                text, rest = rest, ""
            self._paste, self._ended, self._tail = None, False, ""
            yield Paste(text.replace(END + START, "").replace("\0", ""))
            if rest:
                yield from self.feed(rest)

    def _type(self, text: str) -> Iterator[Message]:
        """Parse text as keys, or hold it as what was pasted."""
        body = text.rstrip("\r\n")
        lines = "\r" in body or "\n" in body or (self._streams and text != body)
        if not TEXT.fullmatch(text) or self._pending():
            yield from self._release()
            yield from self._keys(text) if text else ()
            self._streams = False
        elif self._held or lines or len(text) >= LONG_TEXT:
            self._held.append(text)
        else:
            yield from self._keys(text)
            self._streams = text == body

    def _release(self) -> Iterator[Message]:
        text, self._held = "".join(self._held), []
        body = text.rstrip("\r\n")
        end = text[len(body) :]
        if "\r" in body or "\n" in body or len(body) >= LONG_TEXT:
            yield Burst(body)
            text = "\r" if "\r" in end else end
        yield from self._keys(text) if text else ()
