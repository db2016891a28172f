"""The page that explains the keys, the colours and the terms; and the commands of the palette."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import Any, ClassVar

from rich.table import Column, Table
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Static

from assistant.events import Origin
from tui.chat.conversation.welcome import LEGEND
from tui.safe import safe
from tui.text.token_styles import NAMES, Kind, styles
from tui.widgets.dialog import Dialog

UNUSED = ("Quit", "Keys", "Maximize", "Minimize", "Screenshot")
"""Commands of Textual that the app's keys or the terminal cover, or that are useless here."""
_DISPLAY = {"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn", "slash": "/"}


def readable(keys: str) -> str:
    """Return keys as people write them: `Ctrl+K, F9`."""
    return ", ".join(_display(key.strip()) for key in keys.split(","))


def _display(key: str) -> str:
    if len(key) == 1:
        return key
    return "+".join(_DISPLAY.get(part, part.capitalize()) for part in key.split("+"))


def commands(
    own: Iterable[SystemCommand],
    screen: Screen[object],
    run: Callable[[str, DOMNode], Awaitable[object]],
) -> Iterator[SystemCommand]:
    """Yield Textual's `own` commands, and one for each active key of the screen."""
    yield from (command for command in own if command.title not in UNUSED)
    offered: set[str] = set()
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.id and binding.description and active.enabled and binding.id not in offered:
            offered.add(binding.id)
            name, meaning = binding.description, binding.tooltip
            words = [meaning] if name.casefold() in meaning.casefold() else [name, meaning]
            does = partial(run, binding.action, active.node)
            yield SystemCommand(" · ".join(filter(None, words)), readable(binding.key), does)


ALWAYS = (
    ("Ctrl+P", "Command palette"),
    ("Ctrl+C", "Copy what is selected; twice quits"),
    ("Ctrl+Q", "Quit"),
)
"""Keys that work everywhere."""
PICKING = (("Enter", "Take the file, or look into the folder"), ("Esc", "No file"))
TYPED = {
    "Editor": (
        ("Enter", "Send; during an answer it is queued"),
        ("Ctrl+J, Alt+Enter", "New line; also Shift+Enter in many terminals"),
        ("@", "Attach a file, found by letters of its name"),
        ("@folder/", "Ask about a folder"),
        ("/", "List all commands, in an empty prompt"),
        ("Up, Down", "Queued messages, then earlier messages"),
        ("PgUp, PgDn", "Scroll the conversation"),
    ),
    "ChatRows": (("Letters", "Search the conversations"),),
    "ModelList": (("Letters", "Search the models"),),
    "ToolsScreen": (("Letters", "Search the tools"),),
    "SourcesScreen": (("Enter", "Open the file there"),),
    "AttachmentsScreen": (("Enter", "Insert into the text"),),
    "EntryScreen": (("Enter", "Take it"),),
}
"""Keys that are no bindings, by the class of the focused widget or of the screen."""
COLOURS: dict[Kind, str] = {**LEGEND, Origin.TARGET: "what the large one wrote, without a guess"}
TOKENS: dict[Kind, str] = {
    "edit": "copied from the text being edited, with new names, and accepted",
    "suffix": "copied from this conversation, and accepted by the target",
    "tail": "a copy that goes on after a wrong guess, and was accepted",
    "ngram": "a phrase that is common in answers, and accepted",
    "form": "the only text that the form of the answer allows there",
}
WORDS = (
    ("target, draft", "the model that answers, and the one that guesses"),
    ("ArS, guesses off", "autoregressive sampling: one token for each evaluation of the target"),
    ("SpS, always", "speculative sampling: a draft proposes, the target checks several at once"),
    ("guesses auto", "SpS where it pays on this machine, ArS where it does not"),
    ("round", "one proposal and its check: one evaluation of the target"),
    ("right", "accepted proposals, out of those that were tested"),
    ("tokens per round", "tokens for each evaluation of the target; ArS has 1"),
)
PROMISE = (
    "SpS draws from the same distribution as ArS. Nothing leaves this machine, except what you "
    "allow tools to send."
)
ELSEWHERE = "F1 in another place, as on a message, lists the keys that work there."
KEYS_WIDTH = 19  # cells


class HelpScreen(Dialog[None]):
    """Explain the keys, the colours and the figures."""

    DEFAULT_CSS = """
    HelpScreen {
        & > .frame { width: 84; max-height: 96%; padding: 1 2; }
        & Static, & Horizontal, & #keys { height: auto; }
        & .word { width: 19; max-width: 45%; }
        & .meaning { width: 1fr; }
        & .heading { margin: 1 0 0 0; text-style: bold; color: $text-accent; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,enter", "dismiss", "Close", id="help.close"),
    ]

    def __init__(self, screen: Screen[Any]) -> None:
        """List the keys that work on a screen now."""
        super().__init__()
        self._keys = Table.grid(Column(width=KEYS_WIDTH, style="bold"), Column())
        for keys, meaning in _keys_on(screen):
            self._keys.add_row(f"{safe(keys)} ", safe(meaning))

    def compose(self) -> ComposeResult:
        """Lay out one scrollable page."""
        token_styles = styles(self.app.no_color)
        with VerticalScroll(classes="frame") as page:
            page.border_title = "Help"
            page.border_subtitle = "Esc closes · ↓ shows keys, more colours and words"
            for kind, meaning in COLOURS.items():
                yield _word(Content.styled(NAMES[kind], token_styles[kind]), meaning)
            yield Static("Keys here", classes="heading", markup=False)
            yield Static(self._keys, id="keys", markup=False)
            yield Static(ELSEWHERE, markup=False)
            yield Static("More colours", classes="heading", markup=False)
            for kind, meaning in TOKENS.items():
                yield _word(Content.styled(NAMES[kind], token_styles[kind]), meaning)
            yield Static("Words", classes="heading", markup=False)
            for word, meaning in WORDS:
                yield _word(Content.styled(word, "bold"), meaning)
            yield Static(PROMISE, classes="heading", markup=False)


def _word(word: Content, meaning: str) -> Horizontal:
    """Return a word and what it means, side by side."""
    return Horizontal(
        Static(word, classes="word", markup=False),
        Static(meaning, classes="meaning", markup=False),
    )


def _keys_on(screen: Screen[Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys that work on a screen now and what each does, those of the focus first."""
    is_picking = any(picker.display for picker in screen.query("Picker"))
    for part in (screen.focused, screen):
        yield from PICKING if is_picking and part else TYPED.get(type(part).__name__, ())
    keys: dict[str, list[str]] = {}
    for key, active in screen.active_bindings.items():
        binding = active.binding
        if active.enabled and binding.id and active.node is not screen.app:
            keys.setdefault(binding.tooltip or binding.description, []).append(key)
    yield from ((readable(", ".join(pressed)), meaning) for meaning, pressed in keys.items())
    yield from ALWAYS
