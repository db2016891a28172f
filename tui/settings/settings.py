"""Everything a person may set."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from assistant.request import USUAL_SOURCES, Mode, RuleName, Sampling
from tui.settings.config_reader import Preset
from tui.settings.layers import SettingSource

View = Literal["words", "tokens"]


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
