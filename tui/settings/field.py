"""One key of `config.toml` on the settings screen: its name, its value and a line of help."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from tui.safe import safe
from tui.settings.chooser import Chooser
from tui.settings.keys import Key
from tui.settings.value_kinds import Value, shown
from tui.settings.word_kinds import ChoiceKind, Flag, FolderList, TextKind
from tui.widgets.entry import EntryLine

_YES_NO = ("yes", "no")


class Lines(TextArea):
    """A text of several lines that lets go of the cursor at its first and last line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "leave_or('up')", show=False),
        Binding("down", "leave_or('down')", show=False),
    ]

    def action_leave_or(self, direction: str) -> None:
        """Move the cursor, or to the next field where there is no more line."""
        if direction == "up":
            self.screen.focus_previous() if self.cursor_at_first_line else self.action_cursor_up()
        else:
            self.screen.focus_next() if self.cursor_at_last_line else self.action_cursor_down()


class Field(Horizontal):
    """A key, its value to be changed, and what it is or why the value is not taken."""

    DEFAULT_CSS = """
    Field {
        height: auto;
        padding: 0 0 0 1;

        & .name {
            width: 17;
            padding: 0 1 0 0;
        }

        & Input, & Chooser {
            width: 34;
        }

        & Input, & Lines, & Chooser {
            background: $surface-darken-1;
        }

        & Input:focus, & Lines:focus {
            background: $boost;
        }

        & Chooser:focus {
            background: $block-cursor-background;
        }

        & Lines {
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

            & .name {
                text-style: bold;
            }
        }

        &.passing .help {
            color: $text-warning;
        }

        &.wrong .help {
            color: $text-error;
            text-style: bold;
            text-wrap: wrap;
        }
    }
    """

    @dataclass
    class Typed(Message):
        """The person changed the text of a key."""

        name: str
        text: str

    @dataclass
    class Entered(Message):
        """The person pressed Enter in a field."""

    def __init__(self, key: Key, value: Value, choices: Sequence[str] = ()) -> None:
        super().__init__(id=f"field-{key.name}")
        self.key = key
        self.control = _control(key, value, choices)
        self.caption = Static(key.name, classes="name", markup=False)
        self.help = Static("", classes="help", markup=False)
        self._said: tuple[str | None, str | None, bool] | None = None
        self.set_class(isinstance(key.kind, FolderList) or _is_path(key), "long")

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
            elif isinstance(self.control, Input | Chooser):
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
    def take_text(self, message: Input.Changed) -> None:
        """Pass on what was typed."""
        message.stop()
        self.post_message(self.Typed(self.key.name, message.value))

    @on(TextArea.Changed)
    def take_lines(self, message: TextArea.Changed) -> None:
        """Pass on what was typed."""
        message.stop()
        self.post_message(self.Typed(self.key.name, message.text_area.text))

    @on(Chooser.Changed)
    def take_choice(self, message: Chooser.Changed) -> None:
        """Pass on what was chosen."""
        message.stop()
        self.post_message(self.Typed(self.key.name, message.value))

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


def _control(key: Key, value: Value, choices: Sequence[str]) -> Widget:
    kind = key.kind
    if choices or isinstance(kind, ChoiceKind | Flag):
        words = choices or (kind.choices if isinstance(kind, ChoiceKind) else _YES_NO)
        return Chooser(words, shown(value))
    if isinstance(kind, TextKind) and kind.many_lines:
        return Lines(shown(value), compact=True, tab_behavior="focus", highlight_cursor_line=False)
    return EntryLine(_text(key, value), placeholder=shown(key.default), compact=True)


def _text(key: Key, value: Value) -> str:
    """Return what a field holds: nothing, with the placeholder, where the value is left open."""
    open_ = isinstance(value, str) and value == key.default and not isinstance(key.kind, ChoiceKind)
    return "" if open_ and key.name != "preset" else shown(value)


def _is_path(key: Key) -> bool:
    return key.name in ("target", "draft")
