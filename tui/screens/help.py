"""The keys and the words, on one page."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from assistant.events import Origin
from tui.widgets.origins import NAMES, STYLES

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
        with VerticalScroll(id="help") as page:
            page.border_title = "Help"
            page.border_subtitle = "Esc closes"
            yield Static(_table(KEYS, "bold $accent"), markup=False)
            yield Static("Tokens", classes="heading", markup=False)
            for origin, meaning in ORIGINS.items():
                yield Static(_row(NAMES[origin], meaning, STYLES[origin]), markup=False)
            yield Static("Words", classes="heading", markup=False)
            yield Static(_table(WORDS, "bold"), markup=False)
            yield Static(PROMISE, classes="heading", markup=False)


def _row(name: str, meaning: str, style: str) -> Content:
    return Content.assemble((name, style), " " * (17 - len(name)), meaning)


def _table(rows: tuple[tuple[str, str], ...], style: str) -> Content:
    return Content("\n").join(_row(name, meaning, style) for name, meaning in rows)
