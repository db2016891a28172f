"""The settings that users change often, and `config.toml` in an editor for all others."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from assistant.settings.config_file import read
from assistant.settings.keys import START, Key, display
from assistant.settings.layers import STATE, Layers
from assistant.settings.settings import DEFAULT, KEYS
from models.errors import UsageError
from tui.app.program import Program
from tui.formatting import by_parts
from tui.safe import safe
from tui.settings.editor import write_template
from tui.widgets.dialog import Dialog
from tui.widgets.entry_screen import EntryScreen
from tui.widgets.keyline import KeyLine

_NAME, _VALUE, _KEY = 18, 22, 20  # cells of the three columns
TITLES = {
    "target": "Model", "draft": "Guessing model", "mode": "Guessing", "max_tokens": "Length limit",
    "system": "System prompt", "effort": "Effort", "ctx": "Context",
    "idle": "Reading ahead", "colours": "Token colours", "ghosts": "Show wrong guesses",
    "notify": "Bell",
}  # fmt: skip
"""The titles of settings whose keys do not describe them."""
MAX_NAMED = 4  # choices named in the details; the arrows step through all


class SettingsScreen(Dialog[None]):
    """Change settings; each change takes effect at once and is passed to `use`, which saves it."""

    DEFAULT_CSS = """
    SettingsScreen {
        & > .frame { width: 100; max-width: 100%; max-height: 1fr; }
        & OptionList, & OptionList:focus {
            max-height: 1fr; padding: 0; border: none; text-wrap: nowrap; text-overflow: ellipsis;
        }
        & OptionList > .option-list--option { padding: 0 1; }
        & #detail {
            height: 5; padding: 0 1; border-top: solid $border-blurred; color: $text-muted;
        }
        &.-small.-low OptionList { max-height: 55%; }
        &.-small #detail { height: auto; min-height: 5; }
    }
    """
    VERTICAL_BREAKPOINTS = [(0, "-low"), (24, "-high")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        # All have priority: otherwise keys that are typed fast would overtake each other.
        Binding("escape", "dismiss", "Back", id="settings.cancel", priority=True),
        Binding("enter", "change", "Change", id="settings.change", priority=True),
        Binding("up", "move(-1)", "Up", id="settings.up", priority=True),
        Binding("down", "move(1)", "Down", id="settings.down", priority=True),
        Binding("left", "step(-1)", "Previous", id="choice.previous", priority=True),
        Binding("right,space", "step(1)", "Next", id="choice.next", priority=True),
        Binding("delete,backspace", "reset", "Reset", id="settings.reset", priority=True),
        Binding("e", "edit", "Edit config.toml", id="settings.edit", priority=True),
    ]

    app = getters.app(Program)

    def __init__(self, layers: Layers, use: Callable[[Layers], None]) -> None:
        super().__init__()
        self.now, self._use = layers, use
        self.list = OptionList(markup=False)
        self.detail = Static("", id="detail", markup=False)

    def compose(self) -> ComposeResult:
        """Lay out the list of keys, and the details of the one under the cursor."""
        with Vertical(classes="frame") as box:
            box.border_title = "Settings"
            yield self.list
            yield self.detail
        yield KeyLine()

    def on_mount(self) -> None:
        """Read `config.toml` again, and select the first key."""
        self._read_again()
        self.list.focus()

    def _set_layers(self, layers: Layers) -> None:
        if layers != self.now:
            self.now = layers
            self._use(layers)
        listed = [key.name for key in KEYS.values() if key.daily or key.name in self.now.choices]
        current = self.key.name if self.list.options else ""
        self.list.set_options(Option(self._row(name), name) for name in listed)
        self.list.highlighted = listed.index(current) if current in listed else 0

    def _row(self, name: str) -> Content:
        value, source = self.now.in_force[name]
        text = safe(display(value).replace("\n", " ⏎ "))
        text = f"‹ {text} ›" if KEYS[name].choices else text
        text = text if cell_len(text) <= _VALUE else f"{set_cell_size(text, _VALUE - 1)}…"
        style = "bold" if name in self.now.choices else ""
        row = Content.assemble(f"{title(name):<{_NAME}}  ", (text, style))
        if self.app.size.width < _NAME + _VALUE + _KEY:
            return row  # the key is in the frame
        about = "" if source == DEFAULT else safe(f" · {source}")
        cells = self.app.size.width - _NAME - _VALUE - 7
        key = Content.styled(by_parts(f"{name}{about}", cells), "$text-muted")
        return row.pad_right(_NAME + _VALUE + 3 - row.cell_length) + key

    def on_resize(self) -> None:
        """Show the keys beside the settings if they fit."""
        self._set_layers(self.now)

    @property
    def key(self) -> Key:
        """The key under the cursor."""
        return KEYS[self.list.get_option_at_index(self.list.highlighted or 0).id or ""]

    @on(OptionList.OptionHighlighted)
    def explain(self) -> None:
        """Show the details of the key under the cursor."""
        self.detail.update(safe("\n".join(explain(self.now, self.key.name))))
        self.subtitle = safe(f"{self.key.name} · {self.now.config.path}")
        super().on_resize()
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the actions that the setting under the cursor allows."""
        if not self.list.options or action not in ("step", "reset"):
            return True
        return bool(self.key.choices) if action == "step" else self.key.name in self.now.choices

    def action_move(self, direction: int) -> None:
        """Go to another key."""
        move = self.list.action_cursor_up if direction < 0 else self.list.action_cursor_down
        move()

    def action_step(self, direction: int) -> None:
        """Choose the next of the listed values, if the key has such."""
        choices, now = self.key.choices, display(self.now.in_force[self.key.name][0])
        current = choices.index(now) if now in choices else -direction
        self._set_value(self.key, choices[(current + direction) % len(choices)])

    @on(OptionList.OptionSelected)
    def action_change(self) -> None:
        """Choose the next listed value, or open an entry for one."""
        if self.key.choices:
            self.action_step(1)
            return
        key = self.key

        def invalid_reason(text: str) -> str:
            return key.rejection(text) if text.strip() and key.parse(text) is None else ""

        value, hint = display(self.now.in_force[key.name][0]), f"{key.help} Allowed: {key.allowed}."
        entry = EntryScreen(title(key.name), value, hint, invalid_reason, key.many_lines)
        self.app.push_screen(entry, partial(self._set_value, key))

    def _set_value(self, key: Key, text: str | None) -> None:
        """Set a key from a text; an empty text resets it, unless the key may be empty."""
        if text is None or text == display(self.now.in_force[key.name][0]):
            return
        is_value = text.strip() or key.many_lines
        value = key.parse(text) if is_value else self.now.base[key.name][0]
        if value is not None:
            self._set_layers(self.now.choose(**{key.name: value}))

    def action_reset(self) -> None:
        """Go back to the value in `config.toml`, or to the default."""
        self._set_layers(self.now.choose(**{self.key.name: self.now.base[self.key.name][0]}))

    # config.toml

    def action_edit(self) -> None:
        """Open `config.toml` in the user's editor, and apply it afterwards."""
        path = self.now.config.path
        reason = write_template(path) or self.app.edit(path)
        self.app.clear_notifications()  # they may be about errors that are corrected now
        for screen in self.app.screen_stack:  # Textual clears those of the top screen only
            screen.query("ToastHolder").remove()
        self._read_again()
        self.app.warn_of_config([reason] if reason else [])

    def _read_again(self) -> None:
        """Apply `config.toml` as it is now, unless it has errors."""
        try:
            layers = replace(self.now, config=read())
            notices = layers.settings().warnings if layers.config != self.now.config else ()
            late = (name for name, key in KEYS.items() if key.when == START)
            changed = (name for name in late if layers.in_force[name] != self.now.in_force[name])
            notices = (*notices, *(f"{name} takes effect {START}." for name in changed))
        except UsageError as error:
            layers, notices = self.now, (f"{error} The settings stay as they were.",)
        self._set_layers(layers)
        self.app.warn_of_config(notices)


def title(name: str) -> str:
    """Return the title of a setting."""
    return TITLES.get(name) or name.replace("_", " ").capitalize()


def explain(layers: Layers, name: str) -> tuple[str, str]:
    """Return the source of a key's value, and the key's meaning and allowed values."""
    key, source, chosen = KEYS[name], layers.in_force[name][1], layers.choices.get(name)
    default = f" Default: {display(key.default) or 'empty'}." if source != DEFAULT else ""
    more = f" and {len(key.choices) - MAX_NAMED} more" if len(key.choices) > MAX_NAMED else ""
    allowed = f"{', '.join(key.choices[:MAX_NAMED])}{more}" if key.choices else key.allowed
    about = f"{key.help} Allowed: {allowed}.{default} Takes effect {key.when}."
    if source.is_for_this_run:
        return f"Given by {source} for this run. A choice here replaces it, and is kept.", about
    if source == STATE:
        below, other = layers.base[name]
        instead = f"{display(below) or 'empty'} ({other})"
        return f"Chosen here. Delete goes back to {instead}.", about
    if chosen is not None:
        return f"From {source}, set after you chose {display(chosen.value)} here.", about
    if source == DEFAULT:
        return "The default.", about
    return f"From {source}. A choice here replaces it.", about
