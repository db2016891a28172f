"""Everything a person may set, made from options, variables and `config.toml`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from assistant.request import USUAL_SOURCES, Mode, RuleName, Sampling
from tui.settings.config_file import read
from tui.settings.config_reader import Config, Preset
from tui.settings.keys import KEYS
from tui.settings.layers import SettingSource, Values, merge
from tui.settings.value_kinds import Value

View = Literal["words", "tokens"]
_SAMPLING = tuple(each.name for each in fields(Sampling))
_FIELDS = {"ctx": "n_ctx", "model_folders": "folders"}
"""Keys whose field has another name."""
_OPEN = {"target": "auto", "draft": "auto", "preset": "none", "system": ""}
"""Texts that stand for None."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line, the environment and `config.toml` ask for.

    The settings screen returns a new one; changes by keys in the chat go on top.
    """

    target: str | None = None  # a path, a catalogue name or repo:file; None: the default pair's
    draft: str | None = None  # None: the one that belongs to the target
    mode: Mode = "auto"
    lookahead: int | None = None  # None: chosen while decoding
    source: str | None = None  # where proposals come from: names and commas; None: the usual
    rule: RuleName = "block"  # how they are verified without a seed
    sampling: Sampling = field(default_factory=Sampling)
    seed: int | None = None
    max_tokens: int | None = None
    answers: int = 4  # to one question, where several are asked for in the chat
    n_ctx: int = 8192
    threads: int | None = None
    gpu_layers: int | None = None
    system: str | None = None
    offline: bool = False
    save: bool = True  # whether conversations go to disk
    learn: bool = True  # whether what they say again and again is proposed
    folders: tuple[Path, ...] = ()  # where GGUF files are looked for besides the usual places
    theme: str = "textual-dark"
    view: View = "words"  # how a complete answer is shown
    ghosts: bool = False  # whether rejected proposals are shown
    preset: str | None = None  # whose values are in force
    presets: Mapping[str, Preset] = field(default_factory=dict)
    keymap: Mapping[str, str] = field(default_factory=dict)  # from a binding's id to its keys
    sources: Mapping[str, SettingSource] = field(
        default_factory=dict
    )  # of each key of `config.toml`
    notices: tuple[str, ...] = ()  # what is odd in `config.toml`, to be said once

    @property
    def draft_sources(self) -> tuple[str, ...]:
        """The draft sources that may propose."""
        return tuple(self.source.split(",")) if self.source else USUAL_SOURCES


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
    found: Value = value
    return found
