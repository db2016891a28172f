"""One key of `config.toml` on the settings screen: its name, its value and a line of help."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static, TextArea

from tui.safe import safe
from tui.settings.controls import Chooser, MultilineInput
from tui.settings.keys import Key
from tui.settings.kinds import Value, shown
from tui.widgets.entry import EntryLine

Control = EntryLine | MultilineInput | Chooser
LONG = ("target", "draft", "model_folders")
"""Keys whose values are paths."""


class Field(Horizontal):
    """A key, its value to be changed, and what it is or why the value is not taken."""

    DEFAULT_CSS = """
    Field {
        height: auto;
        padding: 0 0 0 1;

        & .name { width: 17; padding: 0 1 0 0; }
        & Input, & Chooser { width: 34; }
        & Input, & MultilineInput, & Chooser { background: $surface-darken-1; }
        & Input:focus, & MultilineInput:focus { background: $boost; }
        & Chooser:focus { background: $block-cursor-background; }

        & MultilineInput {
            width: 2fr;
            height: auto;
            min-height: 2;
            max-height: 6;
            padding: 0;
        }

        & .help {
            width: 1fr;
            height: auto;
            padding: 0 1 0 2;
            color: $text-muted;
            text-wrap: nowrap;
            text-overflow: ellipsis;
        }

        &:focus-within {
            border-left: outer $primary;
            padding: 0;

            & .name { text-style: bold; }
        }

        &.passing .help { color: $text-warning; }
        &.wrong .help { color: $text-error; text-style: bold; text-wrap: wrap; }
    }
    """

    @dataclass
    class Typed(Message):
        """The user changed the text of a key."""

        name: str
        text: str

    class Entered(Message):
        """The user pressed Enter in a field."""

    def __init__(self, key: Key, value: Value, choices: Sequence[str] = ()) -> None:
        super().__init__(id=f"field-{key.name}")
        self.key = key
        self.control = _control(key, value, choices)
        self.caption = Static(key.name, classes="name", markup=False)
        self.help = Static("", classes="help", markup=False)
        self._said: tuple[str | None, str | None, bool] | None = None
        self.set_class(key.name in LONG, "long")

    def compose(self) -> ComposeResult:
        """Lay out name, value and help."""
        yield self.caption
        yield self.control
        yield self.help

    def show(self, value: Value) -> None:
        """Show a value that came from elsewhere than the keyboard."""
        with self.prevent(Input.Changed, TextArea.Changed):
            if isinstance(self.control, TextArea):
                self.control.text = shown(value)
            else:
                self.control.value = _text(self.key, value)

    def say(self, error: str | None, passing: str | None, altered: bool) -> None:
        """Show what is wrong, or where the value came from, or what it is."""
        if (error, passing, altered) == self._said:
            return
        self._said = error, passing, altered
        self.set_class(error is not None, "wrong")
        self.set_class(passing is not None, "passing")
        self.caption.update(f"{self.key.name} *" if altered else self.key.name)
        text = self.key.help if passing is None else f"from {passing} · {self.key.help}"
        self.help.update(safe(f"✗ {error}" if error is not None else text))

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(Chooser.Changed)
    def pass_on(self, message: Message) -> None:
        """Pass on what was typed or chosen."""
        message.stop()
        control = self.control
        text = control.text if isinstance(control, TextArea) else control.value
        self.post_message(self.Typed(self.key.name, text))

    @on(Input.Submitted)
    def enter(self, message: Input.Submitted) -> None:
        """Pass on that Enter was pressed."""
        message.stop()
        self.post_message(self.Entered())

    def on_key(self, event: events.Key) -> None:
        """Pass on that Enter was pressed on a choice; in a text of lines it begins a new one."""
        if event.key == "enter" and isinstance(self.control, Chooser):
            event.stop()
            self.post_message(self.Entered())


def _control(key: Key, value: Value, choices: Sequence[str]) -> Control:
    if words := choices or key.kind.choices:
        return Chooser(words, shown(value))
    if key.kind.many_lines:
        return MultilineInput(
            shown(value), compact=True, tab_behavior="focus", highlight_cursor_line=False
        )
    return EntryLine(_text(key, value), placeholder=shown(key.default), compact=True)


def _text(key: Key, value: Value) -> str:
    """Return what a field holds: nothing, with the placeholder, where the value is left open."""
    return "" if value == key.kind.word and key.name != "preset" else shown(value)
