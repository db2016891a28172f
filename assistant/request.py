"""Jobs for the engine, and orders about them: frozen values that can be sent to another process."""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from assistant.decoding.sampling import Range as Range
from assistant.decoding.sampling import Sampling as Sampling
from models.engines import EngineName
from models.errors import UsageError

Mode = Literal["ars", "sps", "auto"]
RuleName = Literal["token", "block"]
Switch = Literal["auto", "on", "off"]
Effort = Literal["low", "medium", "high"]
RULES: tuple[RuleName, ...] = ("token", "block")

SOURCES = ("edit", "suffix", "tail", "ngram", "model")
"""The names of the draft sources of a chat, in their initial order."""
COPYING = frozenset(SOURCES) - {"model"}  # those that need no draft model

ANSWER_BUDGET = 200  # tokens of the context that a prompt leaves for an answer of unknown length
LONGEST_CONSTRAINT = 1_000_000  # characters; a longer one takes minutes to compile

AnyJob = Any  # a job of any protocol: a plain frozen value
ConstraintKind = Literal["schema", "regex", "grammar"]


@dataclass(frozen=True, slots=True)
class Constraint:
    """A constraint that an answer must obey; `assistant.constraints` compiles it."""

    kind: ConstraintKind
    text: str  # a JSON Schema; a regular expression; a grammar in GBNF or in Lark's syntax

    def __post_init__(self) -> None:
        if len(self.text) > LONGEST_CONSTRAINT:
            size = f"{len(self.text):,} characters; the limit is {LONGEST_CONSTRAINT:,}"
            raise UsageError(f"The {self.kind} has {size}")


@dataclass(frozen=True, slots=True)
class EngineArgs:
    """Which models to load, and how."""

    target: Path
    draft: Path | None = None
    n_ctx: int = 8192
    threads: int | None = None  # None: one per core of `compute_cores`
    gpu_layers: int | None = None  # None: all, when this build can
    engine: EngineName | Literal["auto"] = "auto"  # auto: the one that is faster with this target
    recalls: bool = False  # whether stored answers are a draft source
    snapshots: int = 1 << 30  # bytes on disk for KV caches of stored conversations; 0 is none
    memory: int = 0  # bytes in memory for those of conversations that are not stored
    measure: bool = True  # whether to measure costs, in a second or two; mode auto needs them
    cache: Path | None = None  # folder for measurements; None stores none
    copies: bool = False  # whether to write copies that load at once


ToolChoice = Literal["auto", "none", "required"]
LONGEST_STOP = 1_000  # characters: each token of an answer is compared with all of a stop string
SUFFIX_START = 8  # characters besides blanks that no answer has in common with a suffix by chance
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")
_MINIMUMS = {"lookahead": 0, "max_tokens": 1, "seed": 0, "alternatives": 0, "thinking_budget": 0}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call."""

    name: str  # unique in a request
    description: str
    parameters: str  # a JSON Schema of the object of its arguments
    strict: bool = False  # whether to refuse it if the schema cannot be enforced

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts by its author."""
        return self.name, self.description, self.parameters


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call in an answer."""

    name: str
    arguments: str  # a JSON object
    id: str = ""  # by which its result refers to it


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation, or the result of a tool call."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    token_ids: tuple[int, ...] = ()  # of an answer, as generated: so the caches stay valid
    thought: str = ""  # of the model before the answer, if it is known
    tool_calls: tuple[ToolCall, ...] = ()  # of an answer, after its content
    call_id: str = ""  # of the tool call that a tool's message is the result of
    day: str = ""  # in ISO's format, on which a question was asked; empty: the model is not told
    attached: int = 0  # characters of a question before the user's words

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts of the message."""
        called = (text for call in self.tool_calls for text in (call.name, call.arguments))
        return self.content, self.thought, *called


@dataclass(frozen=True, slots=True)
class Infill:
    """The text after a gap that an answer fills; the prompt is the text before it."""

    suffix: str
    files: tuple[tuple[str, str], ...] = ()  # names and texts of other files, the best last
    typed: tuple[int, ...] = ()  # the first tokens of an answer, which is to be continued

    @property
    def suffix_start(self) -> str:
        """The first lines of the suffix, at which an answer ends; "" if none are long enough."""
        lines = re.match(rf"(?:\s*\S){{{SUFFIX_START}}}.*\n?", self.suffix)
        return lines[0] if lines and lines.end() <= LONGEST_STOP else ""


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that an answer depends on.

    If the last message is an assistant's, the answer continues it.
    """

    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    mode: Mode = "auto"
    lookahead: int | None = None  # tokens to propose per round; None: chosen while decoding
    max_tokens: int | None = None  # None: until the model stops or the context is full
    seed: int | None = None
    stop_strings: tuple[str, ...] = ()
    stored: bool = False  # whether the conversation, and so its KV cache, may be on disk
    alternatives: int = 0  # how many of the most probable tokens to report with each token
    logprobs: int | None = None  # of how many likely tokens beside each one's own; None: of none
    sources: tuple[str, ...] = SOURCES  # that may propose, if they are available
    rule: RuleName = "block"  # verifies proposals; with a seed, the coupled rule does
    constraint: Constraint | None = None  # what the answer must match; None: anything
    thinking: Switch = "auto"  # whether to think first; auto leaves it to the template
    effort: Effort | None = None  # how much; None leaves it to the template
    thinking_budget: int | None = None  # tokens of a thought, after which its end is forced
    tools: tuple[Tool, ...] = ()  # that the model may call
    tool_choice: ToolChoice = "auto"  # whether it may, or must, call one
    parallel_calls: bool = True  # whether one answer may have several calls
    prediction: str = ""  # a text of which the answer may be an edited version
    raw: bool = False  # whether the prompt is the messages' text, without the chat template
    infill: Infill | None = None  # what follows the answer to a raw prompt
    dated: bool = False  # whether questions of a conversation say on which day they were asked

    @property
    def continues(self) -> bool:
        """Whether the last message is an answer to be continued."""
        return bool(self.messages) and self.messages[-1].role == "assistant"

    def prompt_budget(self, n_ctx: int) -> int:
        """Return how many tokens of a context the prompt may take: the answer needs some, too."""
        return n_ctx - min(self.max_tokens or ANSWER_BUDGET, n_ctx // 4)

    def __post_init__(self) -> None:
        for name, minimum in _MINIMUMS.items():
            value = getattr(self, name)
            if value is not None and value < minimum:
                raise UsageError(f"{name} must be {minimum} or more: {value}")
        if any(len(text) > LONGEST_STOP for text in self.stop_strings):
            raise UsageError(f"stop must be of at most {LONGEST_STOP:,} characters")
        names = Counter(tool.name for tool in self.tools)
        for name, count in names.items():
            if not _TOOL_NAME.fullmatch(name) or count > 1:
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
class CountTokens:
    """Count the tokens of a text."""

    text: str


@dataclass(frozen=True, slots=True)
class Prefill:
    """Prefill the prompt of a request that may come. Any other job ends it."""

    request: Request


LaneNumbers = tuple[int, ...]
"""Numbers of lanes that need the same engine. Their process computes one `NextStep` at a time."""


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane of a race."""

    name: str
    setup: EngineArgs  # lanes that name the same file share its weights
    mode: Mode
    lookahead: int | None = None


@dataclass(frozen=True, slots=True)
class Race:
    """The same request in several lanes. They take turns: the lane that has computed least is next.

    The lanes' modes and lookaheads replace those of the request.
    """

    lanes: tuple[Lane, ...]
    request: Request
    part: LaneNumbers | None = None  # which lanes this process runs; None: all

    @property
    def setups(self) -> list[EngineArgs]:
        """What each lane needs."""
        return [lane.setup for lane in self.lanes]


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """Change how the answer under way is decoded."""

    mode: Mode
    lookahead: int | None
    sampling: Sampling | None = None  # None: that of the request


@dataclass(frozen=True, slots=True)
class NextStep:
    """Let one lane of a part compute until its next event."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop the job in progress."""


Job = EngineArgs | Request | Race | CountTokens | Prefill  # all jobs of the chat's engine
