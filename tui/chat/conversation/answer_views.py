"""The text of an answer, seen as tokens or as words."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from tui.chat.conversation.token_view import Still, TokenView
from tui.widgets.token_styles import legends, styles

if TYPE_CHECKING:  # Markdown is for later than the first frame
    from tui.chat.conversation.markdown_view import Words

View = Literal["tokens", "words"]


class Views(Still, Vertical):
    """Hold both views, and make the words when they are asked for.

    Words that are asked for while more is to come grow with it.
    """

    BLANK = True
    DEFAULT_CSS = "Views { height: auto; }"

    view: reactive[View] = reactive[View]("tokens", init=False)
    """Which of them is wanted."""

    class Changed(Message):
        """Another view is shown, or there is something new to explain."""

    def __init__(self, growing: bool) -> None:
        super().__init__()
        self.text = ""
        """What the words are made of."""
        self.hold: Callable[[], None] = lambda: None
        """Called before the height changes, for whoever keeps the reader's place."""
        self.tokens = TokenView(growing)
        self.words: Words | None = None
        """What the text reads as; None until somebody wants to see it."""

    def compose(self) -> ComposeResult:
        """Begin with the tokens."""
        yield self.tokens

    def on_mount(self) -> None:
        """Show what was asked for before there was a place for it."""
        if self.view == "words" and self.words is None:
            self.watch_view()

    def reopen(self) -> None:
        """Drop the words: more is to come."""
        self.hold()
        self.view = "tokens"
        self.tokens.grow(True)
        self._drop_words()

    def close(self) -> None:
        """Take the caret away: this is the whole of it."""
        self.hold()
        self.tokens.grow(False)
        if self.words is not None:
            self.words.close()

    def watch_view(self) -> None:
        """Show the words as soon as they are ready, the tokens at once."""
        if not self.is_attached:
            return  # an answer may be over before the screen has a place for it
        if self.view == "words" and self.words is None:
            from tui.chat.conversation.markdown_view import Words

            self.words = Words(self.text, self.tokens.growing)
            self.words.display = False
            self.mount(self.words)
            return
        self._swap()
        if self.view == "tokens" and self.tokens.growing:
            self._drop_words()  # nobody looks at them while they would cost time

    def _drop_words(self) -> None:
        if self.words is not None:
            self.words.remove()
        self.words = None

    def on_words_shown(self) -> None:
        """Show the words that are ready."""
        self._swap()

    @on(TokenView.Explained)
    def _swap(self) -> None:
        self.hold()
        words = self.words
        ready = self.view == "words" and words is not None and words.ready
        self.tokens.display = not ready
        if words is not None:
            words.display = ready
        self.post_message(self.Changed())

    @property
    def legends(self) -> list[Content]:
        """What the colours mean, in lines, the longest first; none if nothing is explained."""
        if not self.tokens.display:
            return []
        return legends(styles(self.app.no_color), self.tokens.kinds)
