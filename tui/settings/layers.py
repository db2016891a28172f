"""Which value counts: the command line's, the environment's, the file's or the default."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from models.errors import UsageError
from tui.settings.config_reader import Config
from tui.settings.keys import KEYS, PRESET_KEYS
from tui.settings.value_kinds import Value


@dataclass(frozen=True, slots=True)
class SettingSource:
    """Where a value came from."""

    kind: Literal["option", "environment", "preset", "file", "default"]
    name: str = ""
    """The option, the variable, the preset, or the file with the line."""

    @property
    def is_passing(self) -> bool:
        """Whether it is for this run only, and beats the file."""
        return self.kind in ("option", "environment")

    def __str__(self) -> str:
        return f"preset {self.name}" if self.kind == "preset" else self.name or self.kind


DEFAULT = SettingSource("default")
Values = dict[str, Value]
Sources = dict[str, SettingSource]


def merge(
    config: Config, environ: Mapping[str, str], options: Mapping[str, Value | None]
) -> tuple[Values, Sources]:
    """Return each key's value and its source.

    Options beat the environment, which beats the file, which beats the default. A preset beats the
    file, wherever the preset itself was chosen.

    Raises:
        UsageError: a variable's value is not allowed, or there is no such preset.
    """
    values: Values = {name: key.default for name, key in KEYS.items()}
    sources: Sources = dict.fromkeys(KEYS, DEFAULT)

    def lay(layer: Mapping[str, Value], kind: SettingSource | None = None) -> None:
        values.update(layer)
        sources.update({name: kind or SettingSource("file", config.path.name) for name in layer})

    lay(config.values)
    passing = [*_given(variables(environ), "environment"), *_given(options, "option")]
    chosen = {name: value for name, value, _ in passing}.get("preset", values["preset"])
    if chosen != KEYS["preset"].default:
        lay(preset(config, str(chosen)), SettingSource("preset", str(chosen)))
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


def variables(environ: Mapping[str, str]) -> Values:
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


def preset(config: Config, name: str) -> Mapping[str, Value]:
    """Return a preset by its name."""
    if name in config.presets:
        return {
            key: config.presets[name][key] for key in PRESET_KEYS if key in config.presets[name]
        }
    known = ", ".join(config.presets) or "none yet"
    raise UsageError(f"There is no preset {name!r}. Presets in {config.path}: {known}.")
