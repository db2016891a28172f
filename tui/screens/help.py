"""The keys and the words, on one page."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from assistant.events import Origin
from tui.widgets.origins import NAMES, styles

KEYS = (
    ("Enter", "send the message"),
    ("Ctrl+J", "new line; also Alt+Enter, and Shift+Enter where the terminal tells it apart"),
    ("Up / Down", "earlier messages, when the prompt is empty"),
    ("Esc", "stop the answer; what was said is kept"),
    ("Ctrl+T", "auto, SpS or ArS, from the next round on"),
    ("Ctrl+N", "new conversation"),
    ("Ctrl+O", "choose or fetch a model"),
    ("PgUp / PgDn", "scroll; Ctrl+Home and Ctrl+End go to the ends"),
    ("Ctrl+C", "copy what is selected; twice quits"),
    ("Ctrl+P", "command palette: themes, screenshot"),
    ("Ctrl+Q", "quit; also Ctrl+D in an empty prompt"),
)
ORIGINS = {
    Origin.DRAFT: "proposed by the draft and accepted by the target",
    Origin.RESIDUAL: "the target's own, in place of a proposal that it rejected",
    Origin.TARGET: "the target's own, with nothing rejected before it",
}
WORDS = (
    ("ArS", "autoregressive sampling: one token for each evaluation of the target"),
    ("SpS", "speculative sampling: a draft proposes, the target checks several tokens at once"),
    ("auto", "SpS where it pays on this machine, ArS where it does not"),
    ("accepted", "proposals that passed the target's test, of those that were tested"),
    ("tok/eval", "tokens for each evaluation of the target; ArS has 1"),
    ("K", "lookahead: how many tokens the draft proposed in the last round"),
    ("ctx", "tokens of the context in use, and how many fit"),
)
PROMISE = "SpS draws from the same distribution as ArS. Nothing leaves this machine."


class HelpScreen(ModalScreen[None]):
    """Explain the keys, the colours and the figures."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,enter", "dismiss", "Close"),
    ]

    def compose(self) -> ComposeResult:
        """Lay out one scrollable page."""
        looks = styles(self.app.no_color)
        with VerticalScroll(id="help") as page:
            page.border_title = "Help"
            page.border_subtitle = "Esc closes"
            for key, meaning in KEYS:
                yield Row(Content.styled(key, "bold $accent"), meaning)
            yield Static("Tokens", classes="heading", markup=False)
            for origin, meaning in ORIGINS.items():
                yield Row(Content.styled(NAMES[origin], looks[origin]), meaning)
            yield Static("Words", classes="heading", markup=False)
            for word, meaning in WORDS:
                yield Row(Content.styled(word, "bold"), meaning)
            yield Static(PROMISE, classes="heading", markup=False)


class Row(Horizontal):
    """A word and what it means, side by side."""

    def __init__(self, word: Content, meaning: str) -> None:
        super().__init__(
            Static(word, classes="word", markup=False),
            Static(meaning, classes="meaning", markup=False),
        )
