"""Keeping which models were chosen, so that the next start begins with them."""

from models import catalog
from tui.settings.config_file import read
from tui.settings.config_writer import write
from tui.settings.keys import KEYS
from tui.settings.layers import DEFAULT, SettingSource
from tui.settings.settings import Settings
from tui.settings.value_kinds import Value

_AUTO = "auto"


def keep(before: Settings, target: str, draft: str | None) -> dict[str, SettingSource]:
    """Write a choice of models to `config.toml`, and return where they come from now.

    Nothing is written in a run that was told its target. Another target goes with whatever draft
    suits it; for the same one, the draft is what was chosen.

    Raises:
        SpecchatError: the file cannot be understood or written.
    """
    if before.sources.get("target", DEFAULT).is_passing:
        return {}
    usual = catalog.DEFAULT.target.name
    same = target == (before.target or usual)
    wanted: dict[str, Value] = {
        "target": _AUTO if target == usual else target,
        "draft": draft if draft and same else _AUTO,
    }
    seen = read()
    changes = {
        name: value
        for name, value in wanted.items()
        if value != seen.values.get(name, KEYS[name].default)
    }
    if changes:
        seen = write(seen, changes, {})
    file = SettingSource("file", seen.path.name)
    return {name: file if name in seen.values else DEFAULT for name in wanted}
