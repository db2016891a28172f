"""Jobs for the engine and orders about them: frozen values that can be sent to another process."""

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

# The draft sources, by name: the one table of what each of them is.
SOURCES = ("edit", "suffix", "tail", "ngram", "model")
"""Those of a chat, in the order in which they are asked when nothing is known of them."""
BASELINES = ("bigram", "unigram", "random")
"""Those that the papers compare with; only the bench has them."""
COPYING = frozenset({*SOURCES, *BASELINES}) - {"model"}  # those that need no draft model

LONGEST_CONSTRAINT = 1_000_000
"""Characters of the longest constraint; a longer one takes minutes to compile."""


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
    threads: int | None = None  # None: one per physical core
    gpu_layers: int | None = None  # None: all, when this build can
    engine: EngineName | Literal["auto"] = "auto"  # auto: the one that is faster with this target
    recalls: bool = False  # whether to propose what stored answers have said before
    snapshots: int = 1 << 30  # bytes on disk for what was read of stored conversations; 0 is none
    measure: bool = True  # what rounds cost here, a second or two; mode auto needs it
    cache: Path | None = None  # the folder that remembers what was measured; None remembers nothing


ToolChoice = Literal["auto", "none", "required"]
LONGEST_STOP = 1_000
"""Characters of a stop string: each token of an answer is compared with all of it."""
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call."""

    name: str  # which no other tool of a request has
    description: str
    parameters: str  # a JSON Schema of the object of its arguments
    strict: bool = False  # whether it is refused when that cannot be enforced

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts of its author."""
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
    token_ids: tuple[int, ...] = ()  # of an answer, as generated: keeps the caches valid
    thought: str = ""  # what the model thought before the answer, if that is known
    tool_calls: tuple[ToolCall, ...] = ()  # that an answer asks for, after its content
    call_id: str = ""  # of the call that a tool's message is the result of
    day: str = ""  # in ISO's format, on which a question was asked; empty: the model is not told
    attached: int = 0  # characters of a question before the user's words

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts of the message."""
        called = (text for call in self.tool_calls for text in (call.name, call.arguments))
        return self.content, self.thought, *called


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that an answer depends on; later changes of settings do not reach it.

    If the last message is an assistant's, the answer continues it.
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
    sources: tuple[str, ...] = SOURCES  # that may propose, among those there are
    rule: RuleName = "block"  # by which proposals are verified; a seed has a rule of its own
    constraint: Constraint | None = None  # what the answer must match; None: anything
    thinking: Switch = "auto"  # whether to think first; auto leaves it to the template
    effort: Effort | None = None  # how much; None leaves it to the template
    thinking_budget: int | None = None  # tokens of a thought, after which its end is forced
    tools: tuple[Tool, ...] = ()  # that the model may ask to be called
    tool_choice: ToolChoice = "auto"  # whether it may, or must, ask for a call
    parallel_calls: bool = True  # whether one answer may ask for several calls
    prediction: str = ""  # a text that the answer may be an edited version of
    dated: bool = False  # whether questions of a conversation say on which day they were asked

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
            if source not in (*SOURCES, *BASELINES):
                raise UsageError(f"a source must be one of {', '.join(SOURCES)}: {source}")


@dataclass(frozen=True, slots=True)
class CountTokens:
    """Count the tokens of a text; `TokenCount` repeats the label."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Prefill:
    """Read the prompt of a request that may come, while nothing else is to be done.

    Any other job ends it.
    """

    request: Request


LaneNumbers = tuple[int, ...]
"""The numbers of lanes that need the same engine. Their process computes a `NextStep` at a time."""


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

    Each lane has its own mode and lookahead; those of the request are not used.
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
    sampling: Sampling | None = None  # None: as the request has it


@dataclass(frozen=True, slots=True)
class NextStep:
    """Let one lane of a part compute until it says something."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop the job that is being done."""


Job = EngineArgs | Request | Race | CountTokens | Prefill  # all jobs of the chat's engine
