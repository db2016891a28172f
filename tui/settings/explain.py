"""What is to be known of a key while it is being changed, in two lines."""

from tui.settings.form import Form
from tui.settings.keys import KEYS
from tui.settings.value_kinds import shown


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
        return f"Given by {source}, which wins again at the next start over what is saved here."
    if name in form.altered:
        return "Changed; Ctrl+S saves."
    return "Not set in config.toml." if source.kind == "default" else f"From {source}."
