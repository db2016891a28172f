"""An answer as words: Markdown."""

import asyncio
from contextlib import nullcontext
from time import monotonic

from markdown_it.token import Token
from textual import work
from textual.containers import Vertical
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Markdown, Static

from tui.chat.conversation.markdown_blocks import document, highlighted
from tui.chat.conversation.markdown_reading import (
    MAX_BLOCKS,
    MAX_CHARACTERS,
    after,
    divided,
    portions,
    read,
)
from tui.safe import safe

TOO_MUCH = "Too long to format; shown as plain text."
PERIOD, SHARE = 0.25, 10
"""Seconds between two looks at what has come, and times the cost of the last one, if that is more:
so a long block, such as a large table, does not take the time that the answer needs.
"""


class Words(Vertical):
    """Show a text; while more is to come, only its last block is made again and again."""

    BLANK = True
    DEFAULT_CSS = """
    Words { height: auto; }
    Words > .too-much { height: auto; margin: 1 0 0 0; color: $text-muted; }
    """

    class Shown(Message):
        """The text is there to be seen."""

    def __init__(self, text: str, growing: bool) -> None:
        super().__init__()
        self.ready = False
        """Whether there is something to be seen."""
        self.too_long = False
        """Whether it is no more than a note that the tokens are all there is to see."""
        self._text, self._growing = text, growing
        self._coming = safe(text)  # the blocks that are not complete yet
        self._blocks = 0  # those that are
        self._last: Markdown | None = None  # what shows the one that is not
        self._timer: Timer | None = None
        self._pause = PERIOD
        self._showing = asyncio.Lock()

    def on_mount(self) -> None:
        """Show what there is so far."""
        self._show()

    def add(self, text: str) -> None:
        """Append to the text; it is shown soon."""
        self._text += text
        self._coming += safe(text)
        if self._timer is None:
            self._timer = self.set_timer(self._pause, self._show)

    def close(self) -> None:
        """Show the end of the text."""
        self._growing = False
        self._show()

    @work
    async def _show(self) -> None:
        async with self._showing:
            if self._timer is not None:
                self._timer.stop()
                self._timer = None
            if self.too_long or not self.is_attached:
                return
            began, text, growing = monotonic(), self._coming, self._growing
            tokens = await asyncio.to_thread(self._prepare, text)
            if not self.is_attached:  # the app may have been quit meanwhile
                return
            if tokens is None:
                self.too_long, self.ready = True, False  # and so it is shown once more
                await self.remove_children()
                await self.mount(Static(TOO_MUCH, classes="too-much", markup=False))
            elif growing:
                complete, rest = divided(tokens, text.count("\n"))
                self._coming = after(self._coming, rest)
                await self._put(complete, rest)
            else:
                self._coming = ""
                await self._put(tokens, [])
            self._pause = max(PERIOD, SHARE * (monotonic() - began))
            if not self.ready:
                self.ready = True
                self.post_message(self.Shown())

    def _prepare(self, text: str) -> list[Token] | None:
        """Read a text and highlight its code, so that the blocks find it done; None: too much."""
        if len(self._text) > MAX_CHARACTERS or self._blocks > MAX_BLOCKS:
            return None
        tokens = read(text)
        looks = self.app.native_ansi_color, self.app.current_theme.dark
        for token in tokens or ():
            if token.type in ("fence", "code_block"):
                highlighted(token.content.rstrip(), token.info, *looks)
        return tokens

    async def _put(self, complete: list[Token], rest: list[Token]) -> None:
        """Add blocks that are complete, and show again what is not."""
        self._blocks += len(complete)
        with self.app.batch_update() if self.ready else nullcontext():
            if self._last is not None:
                await self._last.remove()
            for portion in portions(complete):
                if not self.is_attached:
                    return
                await self.mount(document(portion))
                if not self.ready:
                    await asyncio.sleep(0)  # the screen continues in between
            self._last = document(rest) if rest else None
            if self._last is not None:
                await self.mount(self._last)
            elif self.children and self.children[-1].children:
                self.children[-1].children[-1].styles.margin = 0  # a footnote keeps its distance
