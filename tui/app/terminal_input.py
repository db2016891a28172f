"""Separation of pasted text from keys in the input of a terminal."""

import re
from collections.abc import Callable, Iterable, Iterator
from time import monotonic

from textual.events import Paste
from textual.message import Message

from tui.app.signals import hang_up_if_gone

START, END = "\x1b[200~", "\x1b[201~"
"""The marks around a paste in terminals with bracketed paste."""
TEXT = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+")
REPORT = re.compile(r"(\x1b\[(?:[IO]|<[\d;]+[Mm]))")
"""Reports of focus and mouse, which may come in the middle of text."""
STREAM_S = 0.005
"""Seconds between characters below which nobody types them."""
PAUSE_S = 0.02  # seconds after which a short input is a key press
LONGEST_KEY, LONG_TEXT = 16, 256
"""Most characters that one key sends; characters from which text is no typing."""
ENDLESS_S = 10.0
"""Seconds without input after which a paste without an end mark ends."""


class Burst(Paste):
    """Lines that came at once without marks: a paste in a text field, elsewhere keys."""


class TerminalInput:
    """Separate pastes from keys. `keys` parses keys; `pending` is whether one is incomplete.

    A paste ends with the last end mark that arrives without a pause: earlier end marks, and escape
    sequences between them, are pasted text. Without marks, lines that arrive at once are a paste,
    too, except that a carriage return at their end is Enter.
    """

    def __init__(
        self, keys: Callable[[str], Iterable[Message]], pending: Callable[[], bool]
    ) -> None:
        self._keys, self._pending = keys, pending
        self._paste: list[str] | None = None  # None: not in a paste
        self._has_end_mark = False  # its end mark was seen
        self._tail = ""  # the last characters, which may be the start of a mark
        self._buffered: list[str] = []  # text without marks that may continue
        self._is_streaming = False  # the last input was text without a line end
        self._has_input, self._input_at = False, monotonic()

    def feed(self, data: str) -> Iterator[Message]:
        """Yield the messages of characters that were read at once, as far as they are certain."""
        before, self._input_at, self._has_input = self._input_at, monotonic(), True
        if len(data) <= LONGEST_KEY and self._input_at - before > PAUSE_S:  # a key press
            yield from self._flush()
        self._is_streaming &= self._input_at - before < STREAM_S
        if self._paste is None:
            typed, mark, data = (self._tail + data).partition(START)
            typed_of_mark = len(self._tail) - len(typed)  # parsed as keys already
            for piece in REPORT.split(typed[len(self._tail) :]):
                yield from self._type(piece)
            self._tail = typed[-5:]
            if not mark:
                return
            yield from self._release()
            if typed_of_mark <= 0 or self._pending():
                ended = self._keys(START[max(0, typed_of_mark) :] + END)
                yield from (event for event in ended if not isinstance(event, Paste))
            self._paste, self._tail = [], ""
        self._paste.append(data)
        self._has_end_mark |= END in self._tail + data
        self._tail = (self._tail + data)[-5:]

    def tick(self) -> Iterator[Message]:
        """Yield the messages that are certain because nothing followed for a moment."""
        hang_up_if_gone()  # Textual reads nothing from a lost terminal forever
        is_quiet, self._has_input = not self._has_input, False
        if is_quiet:
            self._has_end_mark |= monotonic() - self._input_at > ENDLESS_S
            yield from self._flush()

    def _flush(self) -> Iterator[Message]:
        yield from self._release()
        if self._paste is not None and self._has_end_mark:
            text, mark, rest = "".join(self._paste).rpartition(END)
            if not mark:
                text, rest = rest, ""
            self._paste, self._has_end_mark, self._tail = None, False, ""
            yield Paste(text.replace(END + START, "").replace("\0", ""))
            if rest:
                yield from self.feed(rest)

    def _type(self, text: str) -> Iterator[Message]:
        """Parse text as keys, or buffer it as part of a paste."""
        body = text.rstrip("\r\n")
        lines = "\r" in body or "\n" in body or (self._is_streaming and text != body)
        if not TEXT.fullmatch(text) or self._pending():
            yield from self._release()
            yield from self._keys(text) if text else ()
            self._is_streaming = False
        elif self._buffered or lines or len(text) >= LONG_TEXT:
            self._buffered.append(text)
        else:
            yield from self._keys(text)
            self._is_streaming = text == body

    def _release(self) -> Iterator[Message]:
        text, self._buffered = "".join(self._buffered), []
        body = text.rstrip("\r\n")
        end = text[len(body) :]
        if "\r" in body or "\n" in body or len(body) >= LONG_TEXT:
            yield Burst(body)
            text = "\r" if "\r" in end else end
        yield from self._keys(text) if text else ()
