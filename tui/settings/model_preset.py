"""The sampling that a model's maker recommends, as its file has it."""

from pathlib import Path

from models import gguf
from models.errors import SpecchatError
from tui.settings.config_reader import Preset
from tui.settings.keys import KEYS
from tui.settings.value_kinds import Value

_NAMES = {
    "temperature": "temp",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "repeat_penalty": "penalty_repeat",
    "repeat_window": "penalty_last_n",
}


def recommended(target: Path) -> Preset:
    """Return what the file recommends of what specchat can do; nothing, in most files."""
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
