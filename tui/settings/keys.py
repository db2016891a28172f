"""The table of keys: everything that can be set, once.

The checks, the command line's options, the settings screen, `specchat config` and the documented
`config.toml` are all made from it.
"""

from dataclasses import dataclass, replace

from assistant.request import MOST_ANSWERS, RULES, SOURCES, Range, Sampling
from models.engines import ENGINES
from tui.settings.kinds import (
    FLAG,
    FOLDERS,
    TOML_MAX,
    Kind,
    Value,
    choice,
    number,
    some_of,
    text,
    whole,
)

ROUND, ANSWER = "from the next round on", "from the next answer on"
CONVERSATION, NOW = "from the next conversation on", "at once"
RELOAD = "when the models are loaded again"
THEMES = (
    "textual-dark", "textual-light", "ansi-dark", "ansi-light", "atom-one-dark", "atom-one-light",
    "catppuccin-frappe", "catppuccin-latte", "catppuccin-macchiato", "catppuccin-mocha", "dracula",
    "flexoki", "gruvbox", "monokai", "nord", "rose-pine", "rose-pine-dawn", "rose-pine-moon",
    "solarized-dark", "solarized-light", "tokyo-night",
)  # fmt: skip
"""Textual's own; listed, because Textual takes longer to import than the command line may."""


@dataclass(frozen=True, slots=True)
class Key:
    """One thing that can be set."""

    name: str
    """In `config.toml`; as an option of the command line it has dashes."""
    kind: Kind
    default: Value
    help: str
    """One line."""
    when: str
    """From when on a change counts."""
    option: bool = True
    """Whether the command line has it."""
    variable: bool = False
    """Whether the environment has it, as SPECCHAT_ and the name in capitals."""

    @property
    def flag(self) -> str:
        """The option, as it is typed."""
        return "--" + self.name.replace("_", "-")

    @property
    def environment(self) -> str:
        """The variable, as it is set."""
        return f"SPECCHAT_{self.name.upper()}"

    def refusal(self, value: object) -> str:
        """Say why a value is not taken."""
        text = repr(value) if isinstance(value, str) else str(value)
        text = text if len(text) <= 60 else f"{text[:59]}…"
        return f"{self.name} must be {self.kind.allowed}: {text}"


SAMPLING_HELP = {
    "temperature": "0 always takes the likeliest token.",
    "top_k": "Keep the k likeliest tokens; 0 is all.",
    "top_p": "Keep the likeliest up to this mass.",
    "min_p": "Keep those with this share of the best.",
    "repeat_penalty": "Make recent tokens rarer; 1 is off.",
    "repeat_window": "How many tokens are recent.",
}


def _sampling(name: str) -> Key:
    default, bounds = getattr(Sampling(), name), Sampling.RANGES[name]
    kind = number(bounds) if isinstance(default, float) else whole(bounds)
    return Key(name, kind, default, SAMPLING_HELP[name], ROUND)


def _at_least(low: int, word: str) -> Kind:
    return whole(Range(low, TOML_MAX), word)


_ANSWERS = whole(Range(2, MOST_ANSWERS))
SAMPLING = (
    *map(_sampling, SAMPLING_HELP),
    Key("seed", _at_least(0, "random"), "random", "Same seed and settings, same answer.", ANSWER),
    Key("max_tokens", _at_least(1, "none"), "none", "Stop after this many tokens.", ANSWER),
    Key("answers", _ANSWERS, 4, "How many Ctrl+S asks for.", ANSWER, option=False, variable=True),
)
_EFFORTS = replace(choice("auto", "low", "medium", "high"), word="auto")
THINKING = (
    Key("thinking", choice("auto", "on", "off"), "auto", "Whether to think first.", ANSWER),
    Key("effort", _EFFORTS, "auto", "How much, if the model takes that.", ANSWER),
    Key("thinking_budget", _at_least(0, "none"), "none", "Tokens a thought may take.", ANSWER),
    Key("show_thinking", FLAG, False, "Show thoughts in full.", NOW),
)
_MODES, _LOOKAHEAD, _SOURCES = choice("auto", "sps", "ars"), Range(0, 31), some_of(SOURCES, "auto")
_RULES, _PRESET = choice(*RULES), text("none", "NAME")
SPECULATION = (
    Key("mode", _MODES, "auto", "SpS, ArS, or whichever is faster here.", ROUND, variable=True),
    Key("lookahead", whole(_LOOKAHEAD, "auto"), "auto", "Tokens to propose per round.", ROUND),
    Key("source", _SOURCES, "auto", "Where proposals come from.", ANSWER),
    Key("rule", _RULES, "block", "How drafts are verified; no effect with a seed.", ANSWER),
)
PROMPTS = (
    Key("preset", _PRESET, "none", "A system prompt and sampling by name.", ANSWER),
    Key("system", text(many_lines=True), "", "What conversations begin with.", CONVERSATION),
)
_MODEL, _CONTEXT = text("auto", "MODEL"), whole(Range(256, 16_777_216))
_THREADS, _LAYERS = whole(Range(1, 512), "auto"), whole(Range(0, 999), "auto")
_ENGINES = choice("auto", *ENGINES)
MACHINE = (
    Key("target", _MODEL, "auto", "The target: path, name, repo:file.", RELOAD, variable=True),
    Key("draft", _MODEL, "auto", "The draft: the same; heads, or none.", RELOAD, variable=True),
    Key("ctx", _CONTEXT, 8192, "Context, in tokens.", RELOAD, variable=True),
    Key("threads", _THREADS, "auto", "auto: one per physical core.", RELOAD, variable=True),
    Key("engine", _ENGINES, "auto", "auto: the faster one for the target.", RELOAD, variable=True),
    Key("gpu_layers", _LAYERS, "auto", "auto: all if there is a GPU.", RELOAD, variable=True),
    Key(
        "model_folders",
        FOLDERS,
        (),
        "Folders with GGUF files.",
        RELOAD,
        option=False,
        variable=True,
    ),
    Key("offline", FLAG, False, "Open no connection, not even to pull.", NOW, variable=True),
    Key("save", FLAG, True, "Keep conversations on disk.", CONVERSATION, variable=True),
    Key("learn", FLAG, True, "Propose what stored answers said before.", RELOAD, variable=True),
)
LOOKS = (
    Key("theme", choice(*THEMES), "textual-dark", "The colours.", NOW, option=False, variable=True),
    Key("view", choice("words", "tokens"), "words", "How answers are shown.", NOW, option=False),
    Key("ghosts", FLAG, False, "Show rejected proposals, struck out.", NOW, option=False),
)

GROUPS = {
    "Sampling": SAMPLING,
    "Thinking": THINKING,
    "Speculation": SPECULATION,
    "System prompt and presets": PROMPTS,
    "Models and machine": MACHINE,
    "Looks": LOOKS,
}
KEYS = {key.name: key for keys in GROUPS.values() for key in keys}
PRESET_KEYS = {name: KEYS[name] for name in ("system", *SAMPLING_HELP)}
"""What a preset may set."""
