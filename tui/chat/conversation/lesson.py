"""What is said below the first answer whose tokens are coloured."""

from textual.content import Content
from textual.widgets import Static

from tui.chat.conversation.answer import Answer
from tui.widgets.token_styles import Kind, styles

TEXT = ("Words like these", " were guessed right, several at once. F1 explains.")


class Lesson(Static):
    """Say below the first answer with coloured tokens what they are, until the next question.

    The answer stays coloured as long: a newcomer would see them vanish at its end.
    """

    DEFAULT_CSS = "Lesson { height: auto; padding: 0 2; color: $text-muted; }"

    def __init__(self, kind: Kind, answer: Answer) -> None:
        super().__init__()
        self._kind, self._answer = kind, answer
        answer.auto = False

    def render(self) -> Content:
        """Draw a few words as those tokens look."""
        look = styles(self.app.no_color)[self._kind]
        return Content.styled(TEXT[0], look) + TEXT[1]

    def end(self, words: bool) -> None:
        """Go, and let the answer look as all do."""
        self._answer.prefer(words)
        self.remove()
