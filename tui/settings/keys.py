"""The table of keys: everything that can be set, once.

The checks, the command line's options, the settings screen, `specchat config` and the documented
`config.toml` are all made from it.
"""

from dataclasses import dataclass
from typing import Final, Literal

from assistant.request import MOST_ANSWERS, RULES, SOURCES
from tui.settings.value_kinds import Kind, Number, Value, Whole
from tui.settings.word_kinds import ChoiceKind, Flag, FolderList, ListKind, TextKind

ROUND, ANSWER = "from the next round on", "from the next answer on"
CONVERSATION, NOW = "from the next conversation on", "at once"
RELOAD = "when the models are loaded again"
Reach = Literal["nothing", "option", "variable", "both"]
NOTHING: Final = "nothing"
OPTION: Final = "option"
VARIABLE: Final = "variable"
BOTH: Final = "both"
THEMES = (
    "textual-dark",
    "textual-light",
    "ansi-dark",
    "ansi-light",
    "atom-one-dark",
    "atom-one-light",
    "catppuccin-frappe",
    "catppuccin-latte",
    "catppuccin-macchiato",
    "catppuccin-mocha",
    "dracula",
    "flexoki",
    "gruvbox",
    "monokai",
    "nord",
    "rose-pine",
    "rose-pine-dawn",
    "rose-pine-moon",
    "solarized-dark",
    "solarized-light",
    "tokyo-night",
)
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
    also: Reach = OPTION
    """Where it can be set besides the file."""

    @property
    def option(self) -> bool:
        """Whether the command line has it."""
        return self.also in (OPTION, BOTH)

    @property
    def variable(self) -> bool:
        """Whether the environment has it, as SPECCHAT_ and the name in capitals."""
        return self.also in (VARIABLE, BOTH)

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


_MODEL = TextKind("auto", "MODEL")
SAMPLING = (
    Key("temperature", Number(0, 100), 0.7, "0 always takes the likeliest token.", ROUND),
    Key("top_k", Whole(0, 1_000_000), 40, "Keep the k likeliest tokens; 0 is all.", ROUND),
    Key("top_p", Number(0, 1, True), 0.95, "Keep the likeliest of this mass.", ROUND),
    Key("min_p", Number(0, 1), 0.0, "Keep those with this share of the best.", ROUND),
    Key("repeat_penalty", Number(0.01, 100), 1.0, "Make recent tokens rarer; 1 is off.", ROUND),
    Key("repeat_window", Whole(0, 1_000_000), 64, "How many tokens are recent.", ROUND),
    Key("seed", Whole(0, word="random"), "random", "Same seed and settings, same answer.", ANSWER),
    Key("max_tokens", Whole(1, word="none"), "none", "Stop after this many tokens.", ANSWER),
    Key("answers", Whole(2, MOST_ANSWERS), 4, "How many Ctrl+S asks for.", ANSWER, VARIABLE),
)  # fmt: skip
SPECULATION = (
    Key(
        "mode",
        ChoiceKind(("auto", "sps", "ars")),
        "auto",
        "SpS, ArS, or whichever is faster here.",
        ROUND,
        BOTH,
    ),
    Key("lookahead", Whole(0, 31, "auto"), "auto", "Tokens to propose per round.", ROUND),
    Key("source", ListKind(SOURCES, "auto"), "auto", "Where proposals come from.", ANSWER),
    Key(
        "rule",
        ChoiceKind(RULES),
        "block",
        "How drafts are verified; no effect with a seed.",
        ANSWER,
    ),
)
PROMPTS = (
    Key(
        "preset", TextKind("none", "NAME"), "none", "A system prompt and sampling by name.", ANSWER
    ),
    Key("system", TextKind(many_lines=True), "", "What conversations begin with.", CONVERSATION),
)
MACHINE = (
    Key("target", _MODEL, "auto", "What answers: path, name, repo:file.", RELOAD, BOTH),
    Key("draft", _MODEL, "auto", "What proposes; none for none.", RELOAD, BOTH),
    Key("ctx", Whole(256, 16_777_216), 8192, "Context, in tokens.", RELOAD, BOTH),
    Key("threads", Whole(1, 512, "auto"), "auto", "auto: one per physical core.", RELOAD, BOTH),
    Key("gpu_layers", Whole(0, 999, "auto"), "auto", "auto: all if there is a GPU.", RELOAD, BOTH),
    Key("model_folders", FolderList(), (), "Folders with GGUF files.", RELOAD, VARIABLE),
    Key("offline", Flag(), False, "Open no connection, not even to pull.", NOW, BOTH),
    Key("save", Flag(), True, "Keep conversations on disk.", CONVERSATION, BOTH),
    Key("learn", Flag(), True, "Propose what stored answers said before.", RELOAD, BOTH),
)  # fmt: skip
LOOKS = (
    Key("theme", ChoiceKind(THEMES), "textual-dark", "The colours.", NOW, VARIABLE),
    Key("view", ChoiceKind(("words", "tokens")), "words", "How answers are shown.", NOW, NOTHING),
    Key("ghosts", Flag(), False, "Show rejected proposals, struck out.", NOW, NOTHING),
)  # fmt: skip

GROUPS = {
    "Sampling": SAMPLING,
    "Speculation": SPECULATION,
    "System prompt and presets": PROMPTS,
    "Models and machine": MACHINE,
    "Looks": LOOKS,
}
KEYS = {key.name: key for keys in GROUPS.values() for key in keys}
PRESET_KEYS = {name: KEYS[name] for name in ("system", *(key.name for key in SAMPLING[:6]))}
"""What a preset may set."""
