"""The text of an answer, seen as tokens or as words."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from assistant.trace import Step
from tui.widgets.conversation.still import Still
from tui.widgets.conversation.tokens import TokenView
from tui.widgets.origins import legend, styles

if TYPE_CHECKING:  # Markdown is for later than the first frame
    from tui.widgets.conversation.words import Words

View = Literal["tokens", "words"]


class Views(Still, Vertical):
    """Hold both views, and make the words when they are asked for."""

    BLANK = True
    DEFAULT_CSS = "Views { height: auto; }"

    view: reactive[View] = reactive[View]("tokens", init=False)
    """Which of them is wanted."""

    class Changed(Message):
        """Another view is shown, or there is something new to explain."""

    def __init__(self, growing: bool) -> None:
        super().__init__(classes="views")
        self.text = ""
        """What the words are made of."""
        self.hold: Callable[[], None] = lambda: None
        """Called before the height changes, for whoever keeps the reader's place."""
        self.tokens = TokenView(growing)
        self._words: Words | None = None

    def compose(self) -> ComposeResult:
        """Begin with the tokens."""
        yield self.tokens

    def add(self, step: Step) -> None:
        """Append a round."""
        self.text += step.text
        self.tokens.add(step)

    def show(self, steps: Iterable[Step]) -> None:
        """Show how the text came about, as far as that is known."""
        self.hold()
        self.tokens.show(steps)

    def reopen(self) -> None:
        """Drop the words: more is to come."""
        self.hold()
        self.view = "tokens"
        self.tokens.grow(True)
        if self._words is not None:
            self._words.remove()
            self._words = None

    def close(self) -> None:
        """Take the caret away."""
        self.hold()
        self.tokens.grow(False)

    def watch_view(self) -> None:
        """Show the words as soon as they are ready, the tokens at once."""
        if self.view == "words" and self._words is None:
            from tui.widgets.conversation.words import Words

            self._words = Words(self.text)
            self._words.display = False
            self.mount(self._words)
        else:
            self._swap()

    def on_words_shown(self) -> None:
        """Show the words that are ready."""
        self._swap()

    @on(TokenView.Explained)
    def _swap(self) -> None:
        self.hold()
        words = self._words
        ready = self.view == "words" and words is not None and words.ready
        self.tokens.display = not ready
        if words is not None:
            words.display = ready
        self.post_message(self.Changed())

    @property
    def legend(self) -> Content | None:
        """What the colours mean; None when there is nothing to explain."""
        if not self.tokens.display:
            return None
        return legend(styles(self.app.no_color), self.tokens.kinds)
