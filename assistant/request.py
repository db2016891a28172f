"""What is asked of the engine. Plain frozen values: they may cross a process."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from models.engines import EngineName
from models.errors import UsageError

Mode = Literal["ars", "sps", "auto"]
RuleName = Literal["token", "block"]
Switch = Literal["auto", "on", "off"]
Effort = Literal["low", "medium", "high"]
RULES: tuple[RuleName, ...] = ("token", "block")

SOURCES = ("suffix", "tail", "ngram", "model", "heads", "bigram", "unigram", "random")
"""All draft sources, by name."""
USUAL_SOURCES = ("suffix", "tail", "ngram", "model", "heads")
"""Those that may pay, in the order in which they are asked when nothing is known of them."""


LONGEST_FORM = 1_000_000
"""Characters of a form; what is longer takes minutes to understand."""
MOST_ANSWERS = 8
"""Answers to one request at once; each needs a place in every batch, and room in the context."""


class AnyJob(Protocol):
    """Something to be done in another process, by what is told if that one dies of it."""

    @property
    def doing(self) -> str:
        """What the process was at: the end of "while it ..."."""
        ...

    @property
    def kept(self) -> str:
        """What is left of it, and what to do; empty when the models are the first suspects."""
        ...


SAID_IS_KEPT = "The answer so far is kept; ask again to reload the models."


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers from `low` to `high`; with `above`, without `low` itself."""

    low: float
    high: float
    above: bool = False

    def __contains__(self, number: float) -> bool:
        return self.low <= number <= self.high and not (self.above and number == self.low)

    def __str__(self) -> str:
        if self.above:
            return f"above {self.low} and at most {self.high}"
        return f"from {self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How logits become a distribution; applied in the order of the fields, penalty first."""

    temperature: float = 0.7  # 0 takes the most probable token
    top_k: int = 40  # keep the k most probable tokens; 0 keeps all
    top_p: float = 0.95  # keep the smallest set that has this probability; 1 keeps all
    min_p: float = 0.0  # keep tokens with this share of the best one's probability
    repeat_penalty: float = 1.0  # divide the score of recent tokens; 1 is off
    repeat_window: int = 64  # how many tokens are recent
    RANGES: ClassVar[dict[str, Range]] = {
        "temperature": Range(0, 100),
        "top_k": Range(0, 1_000_000),
        "top_p": Range(0, 1, above=True),
        "min_p": Range(0, 1),
        "repeat_penalty": Range(0.01, 100),
        "repeat_window": Range(0, 1_000_000),
    }

    def __post_init__(self) -> None:
        for name, allowed in self.RANGES.items():
            if getattr(self, name) not in allowed:
                raise UsageError(f"{name} must be a number {allowed}: {getattr(self, name)}")


FormKind = Literal["schema", "regex", "grammar"]


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What answers have to look like; `assistant.forms` understands it."""

    kind: FormKind
    text: str  # a JSON Schema; a regular expression; a grammar in GBNF or in Lark's syntax

    def __post_init__(self) -> None:
        if len(self.text) > LONGEST_FORM:
            size = f"{len(self.text):,} characters; {LONGEST_FORM:,} are the most"
            raise UsageError(f"The {self.kind} has {size}")


@dataclass(frozen=True, slots=True)
class Tuning:
    """How a file is run: the settings that shape its cost curve. The defaults are the usual."""

    repack: bool = True
    flash_attention: bool | None = None  # None: as llama.cpp likes
    threads: int | None = None  # None: one per physical core


@dataclass(frozen=True, slots=True)
class Setup:
    """Which models to load, and how."""

    target: Path
    draft: Path | None = None
    n_ctx: int = 8192
    threads: int | None = None  # None: one per physical core
    gpu_layers: int | None = None  # None: all, when this build can
    engine: EngineName | Literal["auto"] = "auto"  # auto: the one that is faster with this target
    recalls: bool = False  # whether to propose what stored answers have said before
    snapshots: int = 1 << 30  # bytes on disk for what was read of stored conversations; 0 is none
    measure: bool = True  # what rounds cost here, a second or two; mode auto needs it
    cache: Path | None = None  # the folder that remembers what was measured; None remembers nothing
    heads: bool = False  # whether the target's own prediction heads are the draft
    kept: ClassVar[str] = ""

    @property
    def has_draft(self) -> bool:
        """Whether it names a draft."""
        return self.heads or self.draft is not None

    @property
    def doing(self) -> str:
        """What the process was at."""
        names = [path.name for path in (self.target, self.draft) if path]
        return f"loaded {' and '.join(names)}"


ToolChoice = Literal["auto", "none", "required"]
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that a model may ask to be called."""

    name: str  # which no other tool of a request has
    description: str
    parameters: str  # a JSON Schema of the object of its arguments
    strict: bool = False  # whether it is refused when that cannot be enforced

    @property
    def texts(self) -> tuple[str, ...]:
        """All that its maker wrote."""
        return self.name, self.description, self.parameters


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that an answer asks for."""

    name: str
    arguments: str  # a JSON object
    id: str = ""  # by which its result refers to it


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation, or what a tool returned within one."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    token_ids: tuple[int, ...] = ()  # of an answer, as generated: keeps the caches valid
    thought: str = ""  # what the model thought before the answer, if that is known
    calls: tuple[ToolCall, ...] = ()  # that an answer asks for, after its content
    call_id: str = ""  # of the call that a tool's message is the result of

    @property
    def texts(self) -> tuple[str, ...]:
        """All that somebody wrote."""
        called = (text for call in self.calls for text in (call.name, call.arguments))
        return self.content, self.thought, *called


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that decides an answer: a snapshot, so that settings may change meanwhile.

    When the last message is an assistant's, the answer goes on where that one ends.
    """

    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    mode: Mode = "auto"
    lookahead: int | None = None  # tokens to propose per round; None: chosen while decoding
    max_tokens: int | None = None  # None: until the model stops or the context is full
    seed: int | None = None
    stop_strings: tuple[str, ...] = ()
    stored: bool = False  # whether the conversation is on disk; only then is its KV cache, too
    alternatives: int = 0  # how many of the most probable tokens to report with each token
    sources: tuple[str, ...] = USUAL_SOURCES  # that may propose, among those there are
    rule: RuleName = "block"  # by which proposals are verified; a seed has a rule of its own
    answers: int = 1  # how many answers to give, independent of each other, decoded together
    form: AnswerForm | None = None  # what every answer has to look like; None: as it comes
    thinking: Switch = "auto"  # whether to think first; auto leaves it to the template
    effort: Effort | None = None  # how much; None leaves it to the template
    thinking_budget: int | None = None  # tokens of a thought, after which its end is forced
    tools: tuple[Tool, ...] = ()  # that the model may ask to be called
    tool_choice: ToolChoice = "auto"  # whether it may, or must, ask for a call
    parallel_calls: bool = True  # whether one answer may ask for several calls
    doing: ClassVar[str] = "answered"
    kept: ClassVar[str] = SAID_IS_KEPT

    @property
    def continues(self) -> bool:
        """Whether the last message is an answer to be continued."""
        return bool(self.messages) and self.messages[-1].role == "assistant"

    def __post_init__(self) -> None:
        leasts = {"lookahead": 0, "max_tokens": 1, "seed": 0, "alternatives": 0}
        for name, least in {**leasts, "thinking_budget": 0}.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{name} must be {least} or more: {value}")
        if not 1 <= self.answers <= MOST_ANSWERS:
            raise UsageError(f"answers must be between 1 and {MOST_ANSWERS}: {self.answers}")
        names = [tool.name for tool in self.tools]
        for name in names:
            if not _TOOL_NAME.fullmatch(name) or names.count(name) > 1:
                raise UsageError(
                    "tools must have names of their own, of 1 to 128 letters, digits, and "
                    f"_ . : / -: {name[:128]!r}"
                )
        if self.tool_choice == "required" and not names:
            raise UsageError("a call is required, and there are no tools")
        for source in self.sources:
            if source not in SOURCES:
                raise UsageError(f"a source must be one of {', '.join(SOURCES)}: {source}")


@dataclass(frozen=True, slots=True)
class Count:
    """A text whose tokens are to be counted; `label` comes back with the answer."""

    label: str
    text: str
    doing: ClassVar[str] = "answered"
    kept: ClassVar[str] = SAID_IS_KEPT


@dataclass(frozen=True, slots=True)
class Lane:
    """One competitor of a race."""

    name: str
    setup: Setup  # lanes that name the same file share its weights
    mode: Mode
    lookahead: int | None = None


@dataclass(frozen=True, slots=True)
class Race:
    """The same request in several lanes, which take turns: the one that computed least goes next.

    The lanes' modes and lookaheads are used instead of the request's.
    """

    lanes: tuple[Lane, ...]
    request: Request
    doing: ClassVar[str] = "ran the race"
    kept: ClassVar[str] = SAID_IS_KEPT


@dataclass(frozen=True, slots=True)
class Steer:
    """Change how the answer under way is decoded."""

    mode: Mode
    lookahead: int | None
    sampling: Sampling | None = None  # None: as the request has it


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop the job that is being done."""


Job = Setup | Request | Race | Count
"""What the engine does, one after another."""
