"""An answer as it reads while it still comes: only its last block is made again and again."""

import asyncio
from contextlib import nullcontext
from time import monotonic

from markdown_it.token import Token
from textual import work
from textual.timer import Timer
from textual.widgets import Markdown, Static

from tui.chat.conversation.markdown_blocks import document
from tui.chat.conversation.markdown_reading import LONGEST, MOST_BLOCKS, portions, read
from tui.chat.conversation.markdown_view import TOO_MUCH, Words, whole
from tui.chat.conversation.token_view import TokenView
from tui.safe import safe

PERIOD, SHARE = 0.25, 10
"""Seconds between two looks at what has come, and times the cost of the last one, if that is more:
so a long block, such as a large table, does not take the time that the answer needs.
"""


class Growing(Words):
    """Show a text to which more is added; blocks that are complete stay as they are."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._coming = safe(text)  # the blocks that are not complete yet
        self._blocks = 0  # those that are
        self._last: Markdown | None = None  # what shows the one that is not
        self._plain: TokenView | None = None  # what shows a text that is too much for Markdown
        self._timer: Timer | None = None
        self._pause = PERIOD
        self._showing = asyncio.Lock()

    def begin(self) -> None:
        """Read what there is by now."""
        self._show()

    def add(self, text: str) -> None:
        """Append to the text; it is shown soon."""
        self._text += text
        self._coming += safe(text)
        if self._plain is not None:
            self._plain.add(whole(text))
        elif self._timer is None:
            self._timer = self.set_timer(self._pause, self._show)

    def close(self) -> None:
        """Show the end of the text."""
        if self._plain is not None:
            self._plain.grow(False)
        else:
            self._show()

    @work
    async def _show(self) -> None:
        async with self._showing:
            if self._timer is not None:
                self._timer.stop()
                self._timer = None
            if self._plain is not None or not self.is_attached:
                return
            began, text = monotonic(), self._coming
            tokens = await asyncio.to_thread(read, text) if len(self._text) <= LONGEST else None
            if not self.is_attached:  # the app may have been quit meanwhile
                return
            if tokens is None or self._blocks > MOST_BLOCKS:
                await self._give_up()
            else:
                await self._put(*divided(tokens, text.count("\n")))
            self._pause = max(PERIOD, SHARE * (monotonic() - began))
            if not self.ready:
                self.ready = True
                self.post_message(self.Shown())

    async def _put(self, complete: list[Token], rest: list[Token]) -> None:
        """Add blocks that are complete, and show anew what is not."""
        self._coming = after(self._coming, rest)
        self._blocks += len(complete)
        with self.app.batch_update() if self.ready else nullcontext():
            if self._last is not None:
                await self._last.remove()
            for portion in portions(complete):
                await self.mount(document(portion))
                if not self.ready:
                    await asyncio.sleep(0)  # the screen goes on in between
            self._last = document(rest)
            await self.mount(self._last)

    async def _give_up(self) -> None:
        """Go on as plain text."""
        self._plain = TokenView()
        self._plain.show([whole(self._text)])
        await self.remove_children()
        await self.mount(self._plain, Static(TOO_MUCH, classes="too-much", markup=False))


def divided(tokens: list[Token], lines: int) -> tuple[list[Token], list[Token]]:
    """Return the blocks that are complete, and the rest, to which more may be added.

    `lines` is how many lines are complete. Until the first line of a block is, that block may turn
    out to be a part of the one before.
    """
    starts = [i for i, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]
    begun = [i for i in starts if (tokens[i].map or [0])[0] < lines]
    last = begun[-1] if begun else 0
    return tokens[:last], tokens[last:]


def after(text: str, rest: list[Token]) -> str:
    """Return the text from the line on where the rest of its blocks begins."""
    line = rest[0].map[0] if rest and rest[0].map else 0
    return text.split("\n", line)[line]
