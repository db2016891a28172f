"""The settings: the one table from which everything about them is made.

The command line's options, the environment's variables, the checks of `config.toml`, its template,
`specchat config` and the settings screen all come from the fields of `Settings`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from assistant.request import (
    RULES,
    SOURCES,
    Effort,
    EngineArgs,
    Message,
    Mode,
    Range,
    Request,
    RuleName,
    Sampling,
    Switch,
)
from assistant.settings.keys import ANSWER, CONVERSATION, NOW, RELOAD, ROUND, START, UNLIMITED, Key
from assistant.tools.values import ToolSettings
from models.engines import ENGINES, EngineName
from models.progress import Report, silent

THEMES = (
    "textual-dark", "textual-light", "ansi-dark", "ansi-light", "atom-one-dark", "atom-one-light",
    "catppuccin-frappe", "catppuccin-latte", "catppuccin-macchiato", "catppuccin-mocha", "dracula",
    "flexoki", "gruvbox", "monokai", "nord", "rose-pine", "rose-pine-dawn", "rose-pine-moon",
    "solarized-dark", "solarized-light", "tokyo-night",
)  # fmt: skip
"""Textual's own; listed, because Textual takes longer to import than the command line may."""


@dataclass(frozen=True, slots=True)
class SettingSource:
    """Where a value came from."""

    kind: Literal["option", "environment", "state", "file", "default"]
    name: str = ""  # the option, the variable, or the file

    @property
    def is_for_this_run(self) -> bool:
        """Whether it is for this run only."""
        return self.kind in ("option", "environment")

    def __str__(self) -> str:
        return self.name or self.kind


DEFAULT = SettingSource("default")


def _key(default: Any, help: str, when: str = ANSWER, **rules: Any) -> Any:
    """Return a field that is a key; see `Key` for the rules."""
    return field(default=default, metadata={"key": Key(help=help, when=when, **rules)})


def _sampling(name: str, help: str, daily: bool = False) -> Any:
    default, bounds = getattr(Sampling(), name), Sampling.RANGES[name]
    return _key(default, help, ROUND, bounds=bounds, daily=daily)


def _model(help: str) -> Any:
    return _key(None, help, RELOAD, word="auto", placeholder="MODEL", variable=True)


def _machine(help: str, low: int, high: int) -> Any:
    return _key(None, help, RELOAD, bounds=Range(low, high), word="auto", variable=True)


def _appearance(default: Any, help: str, **rules: Any) -> Any:
    return _key(default, help, NOW, option=False, daily=True, **rules)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force; None is an open value, for which its key has a word."""

    target: str | None = _model("The model that answers: path, name, repo:file.")
    draft: str | None = _model("The model that guesses: the same, or none.")
    mode: Mode = _key(
        "auto", "Guess where it pays, always, or never.", ROUND,
        words=("auto", "sps", "ars"), variable=True, daily=True,
    )  # fmt: skip
    lookahead: int | None = _key(
        None, "Tokens to guess per round.", ROUND, bounds=Range(0, 31), word="auto"
    )
    source: str | None = _key(
        None, "Where guesses come from.", words=SOURCES, word="auto", several=True
    )
    rule: RuleName = _key("block", "How guesses are checked; no effect with a seed.", words=RULES)
    system: str | None = _key(
        None, "What conversations begin with.", CONVERSATION, word="", many_lines=True, daily=True
    )
    temperature: float = _sampling("temperature", "0 always takes the likeliest token.", daily=True)
    top_k: int = _sampling("top_k", "Keep the k likeliest tokens; 0 is all.")
    top_p: float = _sampling("top_p", "Keep the likeliest up to this mass.")
    min_p: float = _sampling("min_p", "Drop those below this share of the best.")
    repeat_penalty: float = _sampling("repeat_penalty", "Make recent tokens rarer; 1 is off.")
    repeat_window: int = _sampling("repeat_window", "How many tokens are recent.")
    seed: int | None = _key(None, "Same seed and settings, same answer.", word="random")
    max_tokens: int | None = _key(
        None, "Stop after this many tokens.", bounds=Range(1, UNLIMITED), word="none", daily=True
    )
    thinking: Switch = _key("auto", "Whether to think first.", words=get_args(Switch), daily=True)
    effort: Effort | None = _key(
        None, "How hard to think, if the model can.",
        words=("auto", *get_args(Effort)), word="auto", daily=True,
    )  # fmt: skip
    thinking_budget: int | None = _key(None, "Tokens a thought may take.", word="none")
    show_thinking: bool = _key(False, "Show thoughts in full.", NOW, daily=True)
    date: bool = _key(True, "Tell the model what day it is; no effect with a seed.", variable=True)
    n_ctx: int | None = _key(
        None, "Context, in tokens; auto: as fits.", f"{NOW}: the models are loaded again",
        name="ctx", bounds=Range(256, 16_777_216), word="auto", variable=True, daily=True,
    )  # fmt: skip
    threads: int | None = _machine("auto: one per physical core, without efficiency cores.", 1, 512)
    engine: EngineName | Literal["auto"] = _key(
        "auto", "auto: the faster one for the target.", RELOAD,
        words=("auto", *ENGINES), variable=True,
    )  # fmt: skip
    gpu_layers: int | None = _machine("auto: all if there is a GPU.", 0, 999)
    copies: bool = _key(
        True, "Keep copies of models that load at once.", RELOAD, option=False, variable=True
    )
    folders: tuple[Path, ...] = _key(
        (), "Folders with GGUF files.", RELOAD, name="model_folders", option=False, variable=True
    )
    offline: bool = _key(False, "Open no connection, not even to pull.", NOW, variable=True)
    save: bool = _key(True, "Keep conversations on disk.", START, variable=True)
    learn: bool = _key(True, "Guess what stored answers said before.", RELOAD, variable=True)
    about: tuple[Path, ...] = _key(
        (), "Folders that questions are about.", option=False, variable=True
    )
    about_seconds: float = _key(
        8.0, "Seconds to spend reading what is found there.",
        bounds=Range(0.0, 86_400.0), option=False, variable=True,
    )  # fmt: skip
    idle: Switch = _key(
        "auto", "Read ahead while you type; auto: not on battery.", NOW,
        words=get_args(Switch), option=False, variable=True, daily=True,
    )  # fmt: skip
    allow_origins: tuple[str, ...] = _key(
        (), "Pages that may ask serve: app://obsidian.md.", RELOAD, of="origins",
        placeholder="ORIGINS", option=False, variable=True,
    )  # fmt: skip
    theme: str = _appearance("textual-dark", "The colours.", words=THEMES, variable=True)
    colours: bool = _appearance(True, "Show tokens in the colours of their origins.")
    ghosts: bool = _appearance(False, "Show wrong guesses, struck out.")
    editing: Literal["auto", "emacs", "vi"] = _key(
        "auto", "Keys of the prompt of --inline; auto: as ~/.inputrc.", NOW,
        words=("auto", "emacs", "vi"), option=False,
    )  # fmt: skip
    notify: Literal["auto", "off"] = _appearance(
        "auto", "Ring when a long answer ends out of sight.", words=("auto", "off")
    )
    tools: ToolSettings = field(default_factory=ToolSettings)
    sources: Mapping[str, SettingSource] = field(default_factory=dict)
    """Where each key's value came from."""
    warnings: tuple[str, ...] = ()  # about the files, to be shown once

    @property
    def sampling(self) -> Sampling:
        """How logits become a distribution."""
        return Sampling(**{name: getattr(self, name) for name in Sampling.RANGES})

    @property
    def may_read_ahead(self) -> bool:
        """Whether the engine may work now, while no answer is asked for."""
        from models.machine import is_on_battery

        return self.idle == "on" or (self.idle == "auto" and not is_on_battery())

    @property
    def draft_sources(self) -> tuple[str, ...]:
        """The draft sources that may propose."""
        return tuple(self.source.split(",")) if self.source else SOURCES

    @property
    def target_name(self) -> str:
        """The name of the target, of the default one if none is set."""
        from models import catalog  # which --help does without

        return self.target or catalog.DEFAULT.target.name

    def setup(
        self, report: Report = silent, target: str | None = None
    ) -> tuple[EngineArgs, str | None]:
        """Find the models to load; return also why there is no draft if there is none.

        `target` is a model instead of the one that is set, or another quantisation of that. A
        `ModelError` says that it is not on this machine, or damaged.
        """
        from models.drafts import find_draft, find_target
        from models.files.gguf_files import is_label
        from models.files.locate import variant
        from models.files.model_file import read_header
        from models.files.places import cache_dir
        from models.memory import auto_ctx

        label = target if target and is_label(target) else None
        name = target if target and not label else self.target
        path = find_target(name, self.folders, report)
        draft, no_draft = find_draft(self.draft, name or self.target_name, self.folders, report)
        if label:
            path = find_target(str(variant(path, label)), (), report)
        setup = EngineArgs(
            path,
            draft,
            self.n_ctx or auto_ctx(read_header(path)),
            self.threads,
            self.gpu_layers,
            self.engine,
            recalls=self.save and self.learn,
            cache=cache_dir(),
            copies=self.copies,
        )
        return setup, no_draft

    def request(self, *questions: str) -> Request:
        """Return a request by these settings: the system prompt, if there is one, and questions."""
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
            dated=self.date and self.seed is None,  # a seed gives the same answer tomorrow
        )


def _keys() -> Iterator[Key]:
    hints = get_type_hints(Settings)
    for own in fields(Settings):
        if key := own.metadata.get("key"):
            default = key.word if own.default is None else own.default
            hint = hints[own.name]
            kinds = (hint, get_origin(hint), *get_args(hint))  # words of a Literal are texts
            yield replace(
                key,
                name=key.name or own.name,
                field=own.name,
                kind=next((kind for kind in kinds if kind in (int, float, bool, tuple)), str),
                default=default,
            )


KEYS = {key.name: key for key in _keys()}
