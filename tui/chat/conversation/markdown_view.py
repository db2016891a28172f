"""An answer as it reads: Markdown, or plain text where that would be too much."""

import asyncio
from time import monotonic

from markdown_it.token import Token
from textual import on, work
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Markdown, Static

from assistant.events import Origin
from assistant.events import Token as Piece
from assistant.tokens import Step
from tui.app.clipboard import WEB
from tui.chat.conversation.markdown_blocks import document, highlighted
from tui.chat.conversation.markdown_reading import portions, read
from tui.chat.conversation.token_view import TokenView
from tui.safe import safe

PATIENCE = 8.0
"""Seconds within which a link must be chosen again to be opened."""
TOO_MUCH = "Too long for Markdown; shown as it came."


class Words(Vertical):
    """Show a text that is complete."""

    BLANK = True
    DEFAULT_CSS = """
    Words { height: auto; }
    Words > .too-much { height: auto; margin: 1 0 0 0; color: $text-muted; }
    """

    class Shown(Message):
        """The text is there to be seen."""

    def __init__(self, text: str) -> None:
        super().__init__(classes="words")
        self._text = text
        self.ready = False
        self._link, self._chosen = "", -PATIENCE

    def on_mount(self) -> None:
        """Have the text read beside the screen's own work."""
        self.begin()

    def begin(self) -> None:
        """Read the text."""
        self._read()

    @work(exclusive=True)
    async def _read(self) -> None:
        tokens = await asyncio.to_thread(self._prepare)
        if tokens is None and self.is_attached:
            view = TokenView(growing=False)
            view.show([whole(self._text)])
            await self.mount(view, Static(TOO_MUCH, classes="too-much", markup=False))
        for portion in portions(tokens or ()):
            if not self.is_attached:  # the app may have been quit meanwhile
                return
            await self.mount(document(portion))
            await asyncio.sleep(0)  # the screen goes on in between
        if tokens is not None and self.children and self.children[-1].children:
            self.children[-1].children[-1].styles.margin = 0  # a footnote keeps its own distance
        self.ready = True
        self.post_message(self.Shown())

    def _prepare(self) -> list[Token] | None:
        """Read the text and highlight its code; the blocks find it done."""
        tokens = read(self._text)
        looks = self.app.native_ansi_color, self.app.current_theme.dark
        for token in tokens or ():
            if token.type in ("fence", "code_block"):
                highlighted(token.content.rstrip(), token.info, *looks)
        return tokens

    @on(Markdown.LinkClicked)
    def choose(self, event: Markdown.LinkClicked) -> None:
        """Show where a link leads; open it when it is chosen once more."""
        event.stop()
        link, now = safe(event.href), monotonic()
        if not WEB.fullmatch(link):
            self.notify(f"Not opened, it is no web address: {link}", markup=False)
        elif link == self._link and now - self._chosen < PATIENCE:
            self.app.open_url(link)
        else:
            self._link, self._chosen = link, now
            self.notify(f"{link}\nClick again to open it in the browser.", markup=False)


def whole(text: str) -> Step:
    """Return a text as one round, when it is not known which tokens it came from."""
    return Step((Piece(0, text, Origin.TARGET, None, 1.0, None),))
