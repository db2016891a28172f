"""All keys of `config.toml` in their groups, and what is to be known of each."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from tui.settings.field import Field
from tui.settings.form import Form
from tui.settings.keys import GROUPS, KEYS
from tui.settings.kinds import shown


class Fields(VerticalScroll, can_focus=False, inherit_bindings=False):
    """A page of fields that scrolls; up and down are left to go from field to field."""

    DEFAULT_CSS = """
    Fields {
        height: 1fr;
        scrollbar-size-vertical: 1;
        scrollbar-color: $panel-lighten-2;
        scrollbar-background: $surface;

        & .group { height: auto; margin: 0 0 1 0; }
        & .heading { padding: 0 1; color: $text-accent; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "page_up", "Page up", show=False, id="settings.page_up"),
        Binding("pagedown", "page_down", "Page down", show=False, id="settings.page_down"),
    ]

    def __init__(self, form: Form) -> None:
        super().__init__()
        choices = {"preset": form.presets}
        self.fields = {
            name: Field(key, form.values[name], choices.get(name, ())) for name, key in KEYS.items()
        }

    def compose(self) -> ComposeResult:
        """Lay out the groups."""
        for title, keys in GROUPS.items():
            with Vertical(classes="group"):
                yield Static(title, classes="heading", markup=False)
                yield from (self.fields[key.name] for key in keys)

    def tell(self, form: Form) -> None:
        """Have each field say what is wrong with it, or where its value came from."""
        altered = form.altered
        for name, field in self.fields.items():
            source = form.source(name)
            passing = str(source) if source.is_passing and name not in altered else None
            field.say(form.errors.get(name), passing, name in altered)

    def narrow(self, text: str) -> None:
        """Show the fields whose group, name or help has all the words of a text."""
        words = text.lower().replace("_", " ").split()
        for title, keys in GROUPS.items():
            for key in keys:
                known = f"{title} {key.name} {key.help}".lower().replace("_", " ")
                self.fields[key.name].display = all(word in known for word in words)
        for group in self.query(".group"):
            group.display = any(field.display for field in group.query(Field))

    def focus_first(self) -> None:
        """Go to the first field that is shown."""
        for field in self.fields.values():
            if field.display:
                field.control.focus()
                return


def explain(form: Form, name: str) -> tuple[str, str]:
    """Return what a key is and may be, and when it counts and where its value comes from."""
    key, default = KEYS[name], shown(KEYS[name].default) or "empty"
    what = f"{key.help} Allowed: {key.kind.allowed}. Default: {default}."
    return what, f"{_origin(name, form)} Counts {key.when}."


def _origin(name: str, form: Form) -> str:
    source = form.source(name)
    if source.kind == "option":
        return f"Given by {source} for this run; a change here is saved for the next ones too."
    if source.kind == "environment":
        return f"Given by {source}, which overrides what is saved here at the next start."
    if name in form.altered:
        return "Changed; Ctrl+S saves."
    return "Not set in config.toml." if source.kind == "default" else f"From {source}."
