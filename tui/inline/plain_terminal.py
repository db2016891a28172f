"""The prompt of a terminal whose cursor cannot be moved: lines are read and printed."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from tui.inline.chat import InlineChat

PROMPT = "› "
POLL_S = 1 / 20


class PlainTerminal:
    """Read and print lines only, on a terminal whose cursor cannot be moved."""

    def __init__(self, chat: InlineChat, enter: Callable[[str], None]) -> None:
        self._chat, self._enter = chat, enter
        self._is_over, self._wake = False, asyncio.Event()
        self._asks = False  # whether the prompt is in the last line

    async def run(self) -> None:
        """Read lines until the input ends, and wait for the answer to each."""
        loop = asyncio.get_running_loop()
        while not self._is_over:
            self._print()
            print(PROMPT, end="", flush=True)
            self._asks = True
            # Not `input` on a thread, which nothing can end.
            loop.add_reader(0, self._wake.set)
            await self._wake.wait()
            loop.remove_reader(0)
            self._wake.clear()
            self._asks = False
            if self._is_over or not (text := typed_line()):
                print()  # after the prompt
                return
            self._enter(text.removesuffix("\n"))
            while not self._chat.session.idle and not self._is_over:
                await asyncio.sleep(POLL_S)

    def leave(self) -> None:
        """Have `run` return."""
        self._is_over = True
        self._wake.set()

    def refresh(self) -> None:
        """Print the finished text in a moment, all of it at once."""
        asyncio.get_running_loop().call_later(POLL_S, self._print)

    def _print(self) -> None:
        if text := self._chat.scrollback.finished():
            print(f"\n{text}{PROMPT}" if self._asks else text, end="", flush=True)

    def text(self) -> str:
        """Return nothing: there is no text between two lines."""
        return ""

    def clear(self) -> None:
        """Do nothing: the text is gone."""

    def put(self, text: str) -> None:
        """Print a text that was not answered."""
        print(f"Not answered: {text}")

    def copy(self, text: str) -> None:
        """Do nothing: such a terminal has no clipboard."""


def typed_line() -> str:
    """Return the next line of a terminal that is not raw; nothing at the end of the input."""
    with suppress(OSError):  # the terminal is gone
        return os.read(0, 4096).decode("utf-8", "replace")
    return ""
