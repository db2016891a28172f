"""From options, variables and `config.toml` to settings, and back to plain values."""

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from assistant.request import Sampling
from tui.settings.config_file import read
from tui.settings.config_reader import Config
from tui.settings.keys import KEYS
from tui.settings.layers import Values, merge
from tui.settings.settings import Settings
from tui.settings.value_kinds import Value

_SAMPLING = tuple(field.name for field in fields(Sampling))
_FIELDS = {"ctx": "n_ctx", "model_folders": "folders"}
"""Keys whose field has another name."""
_OPEN = {"target": "auto", "draft": "auto", "preset": "none", "system": ""}
"""Texts that stand for None."""


def load(options: Mapping[str, Value | None], config: Config | None = None) -> Settings:
    """Return the settings that are in force.

    Raises:
        UsageError: a value is not allowed, or `config.toml` cannot be understood.
    """
    config = config or read()
    values, sources = merge(config, os.environ, options)
    return replace(
        with_values(Settings(), values),
        presets=config.presets,
        keymap=config.keymap,
        sources=sources,
        notices=config.warnings,
    )


def with_values(settings: Settings, values: Mapping[str, Value]) -> Settings:
    """Return settings that have the values of all keys."""
    changes = {_FIELDS.get(name, name): _meaning(name, values[name]) for name in KEYS}
    sampling = Sampling(**{name: changes.pop(name) for name in _SAMPLING})
    return replace(settings, sampling=sampling, **changes)


def plain(settings: Settings) -> Values:
    """Return the value of each key, as `config.toml` would have it."""
    return {name: _value(name, settings) for name in KEYS}


def _meaning(name: str, value: Value) -> Any:
    if name == "model_folders" and isinstance(value, tuple):
        return tuple(Path(os.path.expandvars(folder)).expanduser() for folder in value)
    word = getattr(KEYS[name].kind, "word", None) if name not in _OPEN else _OPEN[name]
    return None if word is not None and value == word else value


def _value(name: str, settings: Settings) -> Value:
    owner = settings.sampling if name in _SAMPLING else settings
    value = getattr(owner, _FIELDS.get(name, name))
    if value is None:
        return KEYS[name].default
    if name == "model_folders":
        return tuple(str(folder) for folder in value)
    plain: Value = value
    return plain
