"""What is set: by the command line, the environment, `config.toml`, or the default."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from assistant.request import (
    USUAL_SOURCES,
    Effort,
    Message,
    Mode,
    Request,
    RuleName,
    Sampling,
    Switch,
)
from assistant.talk.tool_set import ToolSettings
from models.engines import EngineName
from models.errors import UsageError
from tui.settings.config_file import Config, Preset, read
from tui.settings.keys import KEYS, PRESET_KEYS
from tui.settings.kinds import Value
from tui.settings.tool_tables import meant

View = Literal["words", "tokens"]
Values = dict[str, Value]
_FIELDS = {"ctx": "n_ctx", "model_folders": "folders"}
"""Keys whose field has another name."""


@dataclass(frozen=True, slots=True)
class SettingSource:
    """Where a value came from."""

    kind: Literal["option", "environment", "preset", "file", "default"]
    name: str = ""
    """The option, the variable, the preset, or the file."""

    @property
    def is_passing(self) -> bool:
        """Whether it is for this run only, and beats the file."""
        return self.kind in ("option", "environment")

    def __str__(self) -> str:
        return f"preset {self.name}" if self.kind == "preset" else self.name or self.kind


DEFAULT = SettingSource("default")


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
    thinking: Switch = "auto"  # whether the model thinks before it answers
    effort: Effort | None = None  # how much
    thinking_budget: int | None = None  # tokens, after which the end of a thought is forced
    answers: int = 4  # to one question, where several are asked for in the chat
    n_ctx: int = 8192
    threads: int | None = None
    gpu_layers: int | None = None
    engine: EngineName | Literal["auto"] = "auto"
    system: str | None = None
    offline: bool = False
    save: bool = True  # whether conversations go to disk
    learn: bool = True  # whether what they say again and again is proposed
    folders: tuple[Path, ...] = ()  # where GGUF files are looked for besides the usual places
    theme: str = "textual-dark"
    view: View = "words"  # how a complete answer is shown
    ghosts: bool = False  # whether rejected proposals are shown
    show_thinking: bool = False  # whether thoughts are shown in full
    preset: str | None = None  # whose values are in force
    presets: Mapping[str, Preset] = field(default_factory=dict)
    keymap: Mapping[str, str] = field(default_factory=dict)  # from a binding's id to its keys
    tools: ToolSettings = field(default_factory=ToolSettings)
    sources: Mapping[str, SettingSource] = field(default_factory=dict)  # of each key's value
    notices: tuple[str, ...] = ()  # what is odd in `config.toml`, to be said once

    @property
    def draft_sources(self) -> tuple[str, ...]:
        """The draft sources that may propose."""
        return tuple(self.source.split(",")) if self.source else USUAL_SOURCES

    def request(self, *questions: str) -> Request:
        """Return what these settings ask of the engine, after the system prompt if there is one."""
        system = (Message("system", self.system),) if self.system else ()
        return Request(
            (*system, *(Message("user", question) for question in questions)),
            self.sampling,
            self.mode,
            self.lookahead,
            self.max_tokens,
            self.seed,
            sources=self.draft_sources,
            rule=self.rule,
            thinking=self.thinking,
            effort=self.effort,
            thinking_budget=self.thinking_budget,
        )


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
        tools=config.tools,
        sources=sources,
        notices=config.warnings,
    )


def merge(
    config: Config, environ: Mapping[str, str], options: Mapping[str, Value | None]
) -> tuple[Values, dict[str, SettingSource]]:
    """Return each key's value and its source.

    Options beat the environment, which beats the file, which beats the default. A preset beats the
    file, wherever the preset itself was chosen.

    Raises:
        UsageError: a variable's value is not allowed, or there is no such preset.
    """
    values: Values = {name: key.default for name, key in KEYS.items()}
    sources = dict.fromkeys(KEYS, DEFAULT)

    def lay(layer: Mapping[str, Value], kind: SettingSource | None = None) -> None:
        values.update(layer)
        sources.update({name: kind or SettingSource("file", config.path.name) for name in layer})

    lay(config.values)
    passing = [*_given(_variables(environ), "environment"), *_given(options, "option")]
    chosen = {name: value for name, value, _ in passing}.get("preset", values["preset"])
    if chosen != KEYS["preset"].default:
        lay(_preset(config, str(chosen)), SettingSource("preset", str(chosen)))
    for name, value, source in passing:
        lay({name: value}, source)
    return values, sources


def _given(
    layer: Mapping[str, Value | None], kind: Literal["option", "environment"]
) -> list[tuple[str, Value, SettingSource]]:
    """Return what is given for this run; None is not given, and other options are no keys."""
    keys = [(KEYS[name], value) for name, value in layer.items() if name in KEYS]
    return [
        (key.name, value, SettingSource(kind, key.flag if kind == "option" else key.environment))
        for key, value in keys
        if value is not None
    ]


def _variables(environ: Mapping[str, str]) -> Values:
    """Return what the environment sets; an empty variable sets nothing."""
    values: Values = {}
    for name, key in KEYS.items():
        text = environ.get(key.environment, "") if key.variable else ""
        if not text.strip():
            continue
        value = key.kind.parse(text)
        if value is None:
            raise UsageError(f"{key.environment}: {key.refusal(text)}.")
        values[name] = value
    return values


def _preset(config: Config, name: str) -> Mapping[str, Value]:
    if name in config.presets:
        preset = config.presets[name]
        return {key: preset[key] for key in PRESET_KEYS if key in preset}
    known = ", ".join(config.presets) or "none yet"
    raise UsageError(f"There is no preset {name!r}. Presets in {config.path}: {known}.")


def with_values(settings: Settings, values: Mapping[str, Value]) -> Settings:
    """Return settings that have the values of all keys."""
    changes = {_FIELDS.get(name, name): _meaning(name, values[name]) for name in KEYS}
    sampling = Sampling(**{name: changes.pop(name) for name in Sampling.RANGES})
    return replace(settings, sampling=sampling, **changes)


def plain(settings: Settings) -> Values:
    """Return the value of each key, as `config.toml` would have it."""
    return {name: _value(name, settings) for name in KEYS}


def _meaning(name: str, value: Value) -> Any:
    if name == "model_folders" and isinstance(value, tuple):
        return tuple(map(meant, value))
    return None if value == KEYS[name].kind.word else value


def _value(name: str, settings: Settings) -> Value:
    owner = settings.sampling if name in Sampling.RANGES else settings
    value = getattr(owner, _FIELDS.get(name, name))
    if value is None:
        return KEYS[name].default
    if name == "model_folders":
        return tuple(str(folder) for folder in value)
    found: Value = value
    return found
