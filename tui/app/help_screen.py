"""The page that explains the keys, the colours and the terms; and the commands of the palette."""

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import partial
from pkgutil import iter_modules
from typing import ClassVar

from textual import work
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Static

from assistant.events import Origin
from tui.chat.conversation.welcome import LOOKS
from tui.safe import safe
from tui.widgets.dialog import Dialog
from tui.widgets.token_styles import NAMES, Kind, styles

PACKAGES = (
    "app", "chat.conversation", "chat", "chat.prompt", "models", "race", "settings", "widgets"
)  # fmt: skip
"""The packages with screens and widgets that have keys, in the order of the help page."""
UNUSED = ("Quit", "Keys", "Maximize", "Minimize")
"""Commands of Textual that the app's keys cover, or that are useless here."""
_DISPLAY = {"escape": "Esc", "pageup": "PgUp", "pagedown": "PgDn", "slash": "/"}


def all_bindings() -> dict[str, Binding]:
    """Return every binding that has a name, of all screens and widgets."""
    bindings = (binding for owner in _owners() for binding in vars(owner)["BINDINGS"])
    return {binding.id: binding for binding in bindings if binding.id}


def _owners() -> Iterator[type[DOMNode]]:
    """Yield the classes that have keys; modules of commands have none."""
    for name in PACKAGES:
        package = importlib.import_module(f"tui.{name}")
        for module in iter_modules(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("command"):
                for value in vars(importlib.import_module(module.name)).values():
                    own = isinstance(value, type) and value.__module__ == module.name
                    if own and issubclass(value, DOMNode) and vars(value).get("BINDINGS"):
                        yield value


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
        named = binding.id and binding.description and active.enabled
        if binding.id and named and binding.id not in offered:
            offered.add(binding.id)
            title = _title(binding.description, binding.tooltip)
            yield SystemCommand(
                title, readable(binding.key), partial(run, binding.action, active.node)
            )


def _title(name: str, meaning: str) -> str:
    """Return the title of a key in the palette, with all words to search for."""
    if name.casefold() in meaning.casefold():
        return meaning
    return f"{name} · {meaning}" if meaning else name


AREAS = {
    "app": "Keys, everywhere",
    "chat": "Keys, in the chat",
    "prompt": "Keys, in the prompt",
    "turn": "Keys, on a message ",
    "sources": "Keys, among the sources of an answer",
    "change": "Keys, on a change to a file",
    "chats": "Keys, in the list of chats",
    "inspector": "Keys, in the token inspector",
    "race": "Keys, in a race",
    "models": "Keys, among the models",
    "settings": "Keys, in the settings",
    "choice": "Keys, on a setting with choices",
    "entry": "Keys, while a value is typed",
    "attachments": "Keys, on an attached file",
    "call": "Keys, on a tool call",
    "tools": "Keys, among the tools",
    "help": "Keys, on this page",
}
"""Titles of the groups of keys, by the prefix of their names."""
ALWAYS = {
    "app": (("Ctrl+C", "Copy what is selected; twice quits"), ("Ctrl+P", "Command palette")),
    "prompt": (
        ("Enter", "Send; during an answer it is queued"),
        ("Ctrl+J, Alt+Enter", "New line; also Shift+Enter in many terminals"),
        ("@", "Attach a file, found by letters of its name"),
        ("@folder/", "Ask about a folder"),
        ("Up, Down", "Queued messages, then earlier messages"),
        ("PgUp, PgDn", "Scroll the conversation"),
    ),
}
"""Keys that cannot be changed."""
COLOURS: dict[Kind, str] = {**LOOKS, Origin.TARGET: "what the large one wrote, without a guess"}
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
PALETTE = "Ctrl+P finds each by its words."
KEYS_WIDTH = 20  # cells


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

    def __init__(self) -> None:
        super().__init__()
        self.keys = Vertical(id="keys")

    def compose(self) -> ComposeResult:
        """Lay out one scrollable page."""
        token_styles = styles(self.app.no_color)
        with VerticalScroll(classes="frame") as page:
            page.border_title = "Help"
            page.border_subtitle = "Esc closes · ↓ shows all keys, colours and words"
            for kind, meaning in COLOURS.items():
                yield _word(Content.styled(NAMES[kind], token_styles[kind]), meaning)
            yield self.keys
            yield Static("More colours", classes="heading", markup=False)
            for kind, meaning in TOKENS.items():
                yield _word(Content.styled(NAMES[kind], token_styles[kind]), meaning)
            yield Static("Words", classes="heading", markup=False)
            for word, meaning in WORDS:
                yield _word(Content.styled(word, "bold"), meaning)
            yield Static(PROMISE, classes="heading", markup=False)

    @work
    async def on_mount(self) -> None:
        """Collect the keys on a thread, because that imports all screens."""
        bindings = await asyncio.to_thread(all_bindings)
        lines = [Static(line, classes=kind, markup=False) for kind, line in _lines(bindings)]
        if self.keys.is_attached:  # the page may have been closed
            await self.keys.mount(*lines)


def _word(word: Content, meaning: str) -> Horizontal:
    """Return a word and what it means, side by side."""
    return Horizontal(
        Static(word, classes="word", markup=False),
        Static(meaning, classes="meaning", markup=False),
    )


def _lines(bindings: Mapping[str, Binding]) -> Iterator[tuple[str, Content]]:
    """Yield a heading and the keys of each area."""
    keys = {name: readable(bound.key) for name, bound in bindings.items()}
    for area, title in AREAS.items():
        rows = [
            _line(keys[name], bound.tooltip or bound.description)
            for name, bound in bindings.items()
            if name.split(".")[0] == area and bound.description
        ]
        fixed = [_line(pressed, meaning) for pressed, meaning in ALWAYS.get(area, ())]
        if rows or fixed:
            yield "heading", Content(title)
            yield "keys", Content("\n").join([*fixed, *rows])
    yield "meaning", Content(PALETTE)


def _line(keys: str, meaning: str, width: int = KEYS_WIDTH) -> Content:
    return Content.assemble((f"{safe(keys):{width - 1}} ", "bold $text-accent"), safe(meaning))
