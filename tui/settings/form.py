"""Settings while they are being changed: what was typed, what is wrong with it, what to write."""

from collections.abc import Mapping
from dataclasses import replace

from models.errors import UsageError
from tui.settings.config_file import Config, Preset
from tui.settings.keys import KEYS, PRESET_KEYS
from tui.settings.kinds import Value
from tui.settings.settings import DEFAULT, Settings, SettingSource, plain, with_values

NONE = str(KEYS["preset"].default)


class Form:
    """The values of all keys, changed one by one; nothing is in force until `settings`."""

    def __init__(self, settings: Settings, config: Config) -> None:
        self._settings, self._config = settings, config
        self._before = plain(settings)
        self.values = dict(self._before)
        self.errors: dict[str, str] = {}
        self._new: dict[str, Preset] = {}
        self._offered: dict[str, Preset] = {}

    @property
    def presets(self) -> tuple[str, ...]:
        """What presets there are to choose from."""
        return (NONE, *self._all_presets())

    @property
    def altered(self) -> tuple[str, ...]:
        """The keys whose values differ from those in force."""
        return tuple(name for name in KEYS if self.values[name] != self._before[name])

    def source(self, name: str) -> SettingSource:
        """Return where the value in force came from."""
        return self._settings.sources.get(name, DEFAULT)

    def type(self, name: str, text: str) -> None:
        """Take what was typed for a key; an empty text means the default."""
        key = KEYS[name]
        value = key.kind.parse(text) if text.strip() else key.default
        if value is None:
            self.errors[name] = key.refusal(text)
            return
        self.errors.pop(name, None)
        self.set(name, value)

    def set(self, name: str, value: Value) -> None:
        """Set a key; a preset fills the keys it has, and ends when one of them is changed."""
        filled = self._preset(self.values["preset"])
        if name == "preset":
            for key, set_ in filled.items():  # goes back to what it would be without the preset
                if self.values[key] == set_ and not self.source(key).is_passing:
                    self.values[key] = self._saved(key)
            for key, set_ in self._preset(value).items():
                self.values[key] = set_
                self.errors.pop(key, None)
        self.values[name] = value
        if name in PRESET_KEYS and value != filled.get(name, value):
            self.values["preset"] = NONE

    def keep(self, name: str) -> None:
        """Make the values that are set now a preset of this name, and choose it.

        Raises:
            UsageError: the name is empty or taken by "none".
        """
        name = name.strip()
        if not name or name == NONE or any(not char.isprintable() for char in name):
            raise UsageError("A preset needs a name other than none.")
        self._new[name] = {key: self.values[key] for key in PRESET_KEYS}
        self.values["preset"] = name

    def offer(self, name: str, preset: Preset) -> None:
        """Add a preset to choose from, which is written only when it is chosen."""
        if name not in self.presets:
            self._offered[name] = preset

    def changes(self) -> tuple[dict[str, Value], dict[str, Preset]]:
        """Return the keys and presets to be written to `config.toml`.

        What an option or the environment said for this run is not written unless changed here.
        """
        chosen = str(self.values["preset"])
        filled = self._preset(chosen)
        names = [name for name in self.altered if name not in filled]
        if "preset" in names and not filled:  # the preset's values are now the keys' own
            names += [name for name in self._preset(self._before["preset"]) if name not in names]
        changed = {
            name: self.values[name] for name in names if self.values[name] != self._saved(name)
        }
        offered = {chosen: self._offered[chosen]} if chosen in self._offered else {}
        return changed, {**offered, **self._new}

    def settings(self) -> Settings:
        """Return the settings with what was changed."""
        if self.errors:
            raise UsageError(next(iter(self.errors.values())))
        return replace(
            with_values(self._settings, self.values),
            presets=self._all_presets(),
            sources=self._sources(),
        )

    def _sources(self) -> dict[str, SettingSource]:
        chosen = str(self.values["preset"])
        filled = self._preset(chosen)
        sources = dict(self._settings.sources)
        for name in self.altered:
            if name in filled and name != "preset":
                sources[name] = SettingSource("preset", chosen)
            elif self.values[name] != self._saved(name) or name in self._config.values:
                sources[name] = SettingSource("file", self._config.path.name)
            else:
                sources[name] = DEFAULT
        return sources

    def _saved(self, name: str) -> Value:
        return self._config.values.get(name, KEYS[name].default)

    def _preset(self, name: Value) -> Preset:
        return self._all_presets().get(str(name), {})

    def _all_presets(self) -> Mapping[str, Preset]:
        return {**self._settings.presets, **self._config.presets, **self._offered, **self._new}
