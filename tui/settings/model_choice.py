"""The models that were chosen: kept for the next start, with the sampling that they recommend."""

from pathlib import Path

from models import catalog, gguf
from models.errors import SpecchatError
from tui.settings.config_file import Preset, read
from tui.settings.keys import KEYS
from tui.settings.kinds import Value
from tui.settings.settings import DEFAULT, Settings, SettingSource

_AUTO = "auto"
_NAMES = {
    "temperature": "temp",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "repeat_penalty": "penalty_repeat",
    "repeat_window": "penalty_last_n",
}
"""What GGUF calls each key."""


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
        from tui.settings.config_writer import write  # imports tomlkit

        seen = write(seen, changes, {})
    file = SettingSource("file", seen.path.name)
    return {name: file if name in seen.values else DEFAULT for name in wanted}


def recommended(target: Path) -> Preset:
    """Return the sampling settings recommended in the file's metadata; usually none."""
    try:
        metadata = gguf.read(target).metadata
    except SpecchatError:
        return {}
    found: dict[str, Value] = {}
    for name, theirs in _NAMES.items():
        value = KEYS[name].kind.check(metadata.get(f"general.sampling.{theirs}"))
        if value is not None:
            found[name] = value
    return found
