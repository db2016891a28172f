"""The settings: every key of `config.toml`, made from the table of keys."""

import asyncio
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import DescendantFocus
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from models.errors import SpecchatError, UsageError
from tui.safe import safe
from tui.settings.config_file import Config, config_path, read
from tui.settings.controls import Chooser
from tui.settings.field import Field
from tui.settings.fields import Fields, explain
from tui.settings.form import Form
from tui.settings.name_screen import NamingScreen
from tui.settings.settings import Settings
from tui.widgets.entry import EntryLine
from tui.widgets.keyline import KeyLine


class SettingsScreen(ModalScreen[Settings | None]):
    """Change settings, write them to `config.toml`, and return them; None leaves all as it was."""

    DEFAULT_CSS = """
    SettingsScreen {
        align: center middle;
        background: $background 60%;

        & #settings {
            width: 124;
            max-width: 100%;
            height: 1fr;
            padding: 0 0 0 1;
            border: round $primary;
            border-title-color: $text-accent;
            border-title-style: bold;
            border-subtitle-color: $text-muted;
            background: $surface;
        }

        & #filter {
            margin: 0 1;
            background: $surface;

            &:focus { background: $boost; }
        }

        & #detail {
            height: 4;
            padding: 0 1;
            border-top: solid $panel;
            color: $text-muted;
        }

        &.-narrow Field {
            & .name { width: 16; }
            & Input, & Chooser { width: 16; }
            &.long Input { width: 32; }
        }
    }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012  # as Screen has it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel", id="settings.cancel", priority=True),
        Binding("ctrl+s", "save", "Save", id="settings.save", priority=True),
        Binding("ctrl+n", "keep", "Save as preset", id="settings.preset", priority=True),
        Binding("ctrl+f", "filter", "Filter", id="settings.filter", priority=True),
        Binding("up", "app.focus_previous", "Previous field", show=False, id="settings.up"),
        Binding("down", "app.focus_next", "Next field", show=False, id="settings.down"),
        Binding("f1", "app.help", "Help", id="settings.help"),
        Binding("ctrl+c", "app.help_quit", "Quit", show=False),
    ]

    def __init__(self, settings: Settings, target: Path | None = None) -> None:
        """Begin with the settings in force; `target` is asked for the sampling it recommends."""
        super().__init__()
        self.config, self.broken = _read()
        self.form = Form(settings, self.config)
        self.page = Fields(self.form)
        self.fields = self.page.fields
        self.filter = EntryLine(
            placeholder="Filter by name or words (Ctrl+F)", id="filter", compact=True
        )
        self.detail = Static("", id="detail", markup=False)
        self._target = target
        self._theme = ""

    def compose(self) -> ComposeResult:
        """Lay out the groups, and what is to be known of the field in focus."""
        with Vertical(id="settings") as box:
            box.border_title = "Settings"
            box.border_subtitle = Content(safe(str(self.config.path)))
            yield self.filter
            yield self.page
            yield self.detail
        yield KeyLine()

    def on_mount(self) -> None:
        """Begin at the first field."""
        self._theme = self.app.theme
        self._tell_all()
        self.fields["temperature"].control.focus()
        if self.broken:
            self.notify(safe(self.broken), title="Not saved", severity="error", markup=False)
        if self._target is not None:
            self._ask_the_model(self._target)

    @on(Field.Typed)
    def take(self, message: Field.Typed) -> None:
        """Check what was typed, and show what it changes in other fields."""
        name = message.name
        before = dict(self.form.values)
        self.form.type(name, message.text)
        for other, value in self.form.values.items():
            if other != name and value != before[other]:
                self.fields[other].show(value)
        if name == "theme" and name not in self.form.errors:
            self.app.theme = message.text
        self._tell_all()

    @on(Field.Entered)
    def action_save(self) -> None:
        """Write what was changed, and return the settings; nothing is saved while one is wrong."""
        try:
            settings = self.form.settings()
        except UsageError as error:
            self.notify(safe(str(error)), title="Not saved", severity="error", markup=False)
            self.fields[next(iter(self.form.errors))].control.focus()
            return
        self.app.clear_notifications()  # it is no longer true that nothing is saved
        self._save(settings)

    @work(exclusive=True, group="save")
    async def _save(self, settings: Settings) -> None:
        try:
            await asyncio.to_thread(_write, self.config, self.form)
        except SpecchatError as error:
            text = f"{error} The change applies until you quit."
            self.app.notify(safe(text), title="Not saved", severity="warning", markup=False)
        self.dismiss(settings)

    def action_leave(self) -> None:
        """Leave everything as it was."""
        self.app.theme = self._theme
        self.dismiss(None)

    def action_filter(self) -> None:
        """Go to the filter."""
        self.filter.focus()

    @on(Input.Changed, "#filter")
    def narrow(self, message: Input.Changed) -> None:
        """Show the fields whose name, group or help has all the words."""
        self.page.narrow(message.value)

    @on(Input.Submitted, "#filter")
    def go_to_first(self) -> None:
        """Go to the first field that is left."""
        self.page.focus_first()

    def action_keep(self) -> None:
        """Ask for a name, and make the values that are set now a preset."""
        self.app.push_screen(NamingScreen("Save as preset", "name of the preset"), self._keep)

    def _keep(self, name: str | None) -> None:
        if name is None:
            return
        try:
            self.form.keep(name)
        except UsageError as error:
            self.notify(safe(str(error)), severity="error", markup=False)
        self._show_presets()

    @work(group="model")
    async def _ask_the_model(self, target: Path) -> None:
        from tui.settings.model_choice import recommended

        preset = await asyncio.to_thread(recommended, target)
        if preset:
            self.form.offer(target.stem, preset)
            self._show_presets()

    def _show_presets(self) -> None:
        field = self.fields["preset"]
        if isinstance(field.control, Chooser):
            field.control.choices = self.form.presets
        field.show(self.form.values["preset"])
        self._tell_all()

    @on(DescendantFocus)
    def explain_field(self) -> None:
        """Say what is to be known of the field in focus."""
        focused = self.focused.parent if self.focused else None
        if isinstance(focused, Field):
            self.detail.update(safe("\n".join(explain(self.form, focused.key.name))))

    def _tell_all(self) -> None:
        self.page.tell(self.form)
        self.explain_field()


def _read() -> tuple[Config, str | None]:
    """Return what `config.toml` says; without it, settings can be changed for this run."""
    try:
        return read(), None
    except SpecchatError as error:
        return Config(config_path()), str(error)


def _write(config: Config, form: Form) -> None:
    changes, presets = form.changes()
    if changes or presets:
        from tui.settings.config_writer import write  # imports tomlkit

        write(config, changes, presets)
