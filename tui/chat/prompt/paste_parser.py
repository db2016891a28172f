"""Reading what the terminal sends, also when a lot of it is pasted or keys are spelt oddly."""

import sys
from collections.abc import Iterator
from types import GeneratorType
from typing import cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import BRACKETED_PASTE_START, XTermParser
from textual.keys import Keys
from textual.message import Message


class Parser(XTermParser):
    """Textual's parser, which is given a paste in long pieces and not by the character.

    Otherwise a pasted megabyte takes half a second in which nothing else gets to run.
    """

    def feed(self, data: str) -> Iterator[Message]:
        """Yield what the terminal said."""
        if not data:  # the end
            yield from super().feed(data)
        while data:
            if not self._pasting:
                before, mark, data = data.partition(BRACKETED_PASTE_START)
                yield from super().feed(before + mark) if before or mark else ()
            elif self._awaiting.timeout is None and (length := _plain(data)):
                self._awaiting = self._gen.send(data[:length])
                data = data[length:]
            else:  # perhaps the mark at its end
                yield from super().feed(data[0])
                data = data[1:]

    @property
    def _pasting(self) -> bool:
        frame = cast("GeneratorType[object, str, None]", self._gen).gi_frame
        return frame is not None and bool(frame.f_locals.get("bracketed_paste"))


def _plain(data: str) -> int:
    """Return how long the text is in which no sequence begins."""
    escape = data.find("\x1b")
    return len(data) if escape < 0 else escape


def install() -> None:
    """Have Textual use the parser, and read Alt+Enter as what it is."""
    # Most terminals send this for Alt+Enter, which Textual reads as Enter. It must not send.
    cast(dict[str, tuple[Keys, ...]], ANSI_SEQUENCES_KEYS)["\x1b\r"] = (Keys.ControlJ,)
    if sys.platform != "win32":
        from textual.drivers import linux_driver

        vars(linux_driver)["XTermParser"] = Parser
