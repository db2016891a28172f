"""The layers of settings: options, environment, choices in the program, `config.toml`, defaults.

An option overrides the environment, which overrides a choice in the program, which overrides
`config.toml`. A choice is stored in `state.json` with the value that it overrode, and is in force
until `config.toml` has another value: the latest decision of the user holds.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from assistant.settings.config_file import Config, config_path, read
from assistant.settings.keys import Value
from assistant.settings.settings import DEFAULT, KEYS, Settings, SettingSource
from models.errors import StorageError, UsageError, raising
from models.files.disk import JsonFile
from models.files.places import data_dir

SourcedValues = Mapping[str, tuple[Value, SettingSource]]
"""Values by key, with their sources."""
STATE = SettingSource("state", "state.json")
_Choices = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that was chosen in the program."""

    value: Value
    over: Value | None
    """The value in `config.toml` at that time; None: there was none."""


@dataclass(frozen=True)
class Layers:
    """The values of the keys in all layers, and those in force."""

    config: Config = field(default_factory=lambda: Config(config_path()))
    choices: Mapping[str, Choice] = field(default_factory=dict)
    for_run: SourcedValues = field(default_factory=dict)
    """Values for this run only."""
    damage: str = ""
    """What is wrong with `state.json`, in a sentence."""

    @cached_property
    def in_force(self) -> SourcedValues:
        """The values in force."""
        chosen = {
            name: (choice.value, STATE)
            for name, choice in self.choices.items()
            if self.base[name][1] == DEFAULT or self.base[name][0] == choice.over
        }
        return {**self.base, **chosen, **self.for_run}

    @cached_property
    def base(self) -> SourcedValues:
        """The values without choices and without those for this run."""
        source = SettingSource("file", self.config.path.name)
        return {key.name: (key.default, DEFAULT) for key in KEYS.values()} | {
            key: (value, source) for key, value in self.config.values.items()
        }

    def settings(self, start: Settings | None = None, before: "Layers | None" = None) -> Settings:
        """Return the settings in force; or those at the `start`, with what has changed since."""
        old, new = before.in_force if before else {}, self.in_force
        names = [name for name in KEYS if name not in old or old[name][0] != new[name][0]]
        return replace(
            start or Settings(),
            **{KEYS[name].field: KEYS[name].meaning(new[name][0]) for name in names},
            tools=self.config.tools,
            sources={name: source for name, (_, source) in new.items()},
            warnings=(*filter(None, [self.damage]), *self.config.warnings),
        )

    def choose(self, **values: Value) -> "Layers":
        """Return the layers with values chosen, which override those for this run."""
        choices, for_run = dict(self.choices), dict(self.for_run)
        for name, value in values.items():
            base, source = self.base[name]
            for_run.pop(name, None)
            if value == base:
                choices.pop(name, None)
            else:
                choices[name] = Choice(value, None if source == DEFAULT else base)
        return replace(self, choices=choices, for_run=for_run)


def with_models(layers: Layers, before: str | None, target: str, draft: str | None) -> Layers:
    """Return the layers after models were chosen; another target has its draft chosen for it."""
    from models import catalog  # read when a model is, and --help needs none

    usual = catalog.DEFAULT.target.name
    is_same = target == (before or usual)
    own_draft = draft if draft and is_same else "auto"
    return layers.choose(target="auto" if target == usual else target, draft=own_draft)


def load(options: Mapping[str, Any], config: Config | None = None) -> Layers:
    """Return the values of all layers; `options` that are None or no keys are ignored.

    A `UsageError` says that a value is not allowed, or that `config.toml` cannot be understood.
    """
    choices, damage = read_choices()
    given = [(key, options[name]) for name, key in KEYS.items() if options.get(name) is not None]
    typed = {key.name: (value, SettingSource("option", key.flag)) for key, value in given}
    return Layers(config or read(), choices, {**_environment(), **typed}, damage)


def _environment() -> SourcedValues:
    """Return the values that the environment sets; an empty variable sets nothing."""
    values: dict[str, tuple[Value, SettingSource]] = {}
    for name, key in KEYS.items():
        text = os.environ.get(key.environment, "")
        if key.variable and text.strip():
            if (value := key.parse(text)) is None:
                raise UsageError(f"{key.environment}: {key.rejection(text)}.")
            values[name] = (value, SettingSource("environment", key.environment))
    return values


def state_path() -> Path:
    """Return the path of the file with the choices."""
    return data_dir() / STATE.name


def read_choices() -> tuple[dict[str, Choice], str]:
    """Return the choices, and what is wrong with the file; a damaged one is set aside."""
    path = state_path()
    file = JsonFile(path, _Choices)
    try:
        if aside := file.set_aside():
            return {}, f"{path} was damaged and is now {aside.name}: what you chose is forgotten."
    except OSError as error:
        return {}, f"{path} cannot be used ({error.strerror}), so what you chose is ignored."
    choices: dict[str, Choice] = {}
    for name, entry in (file.read() or {}).items():
        key = KEYS.get(name)  # none of an older or a newer version
        if key and (value := key.check(entry.get("value"))) is not None:
            choices[name] = Choice(value, key.check(entry.get("over")))
    return choices, ""


def write_choices(after: Mapping[str, Choice], before: Mapping[str, Choice]) -> None:
    """Store the choices that have changed; those of other windows stay."""
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]

    def with_changes(stored: _Choices | None) -> _Choices:
        others = {name: entry for name, entry in (stored or {}).items() if name not in changed}
        return others | {name: asdict(after[name]) for name in changed if name in after}

    if changed:
        with raising(StorageError, f"{state_path()} cannot be written"):
            JsonFile(state_path(), _Choices).update(with_changes)
