"""The engine's events, in order: plain frozen values that can be sent to another process.

They are tagged with their names, so that one may contain another.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

from msgspec import Struct

from assistant.decoding.lookahead.forecast import Forecast
from assistant.decoding.sampling import Origin as Origin
from assistant.request import ToolCall
from assistant.stats import Stats as Stats
from assistant.stats import Tally as Tally
from models.engines import EngineName


class Stop(StrEnum):
    """Why an answer ended."""

    STOP_TOKEN = "stop-token"
    LENGTH = "length"
    STOP_STRING = "stop-string"
    CONTEXT = "context"
    CANCELLED = "cancelled"


Role = Literal["target", "draft"]
Severity = Literal["warning", "error"]
Part = Literal["answer", "thought", "call", "marker"]  # of an answer; markers enclose thoughts


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A loaded model."""

    role: Role
    name: str
    path: Path
    n_ctx: int


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another token of the same row."""

    id: int
    text: str
    prob: float


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token's log probability under the model's own distribution: before any sampling setting."""

    text: str  # U+FFFD for bytes that are no characters by themselves
    utf8: tuple[int, ...]
    logprob: float


@dataclass(frozen=True, slots=True)
class Token:
    """A token of the answer, the text it completes, and its origin."""

    id: int
    text: str
    origin: Origin
    source: str | None  # the draft source of it, or of the proposal it replaced; None for ArS
    target_prob: float  # under the target's warped row
    draft_prob: float | None  # under the proposal row
    position: int = 0  # in the round
    uniform: float | None = None  # of the accept test at this position
    target_top: tuple[Alternative, ...] = ()  # the most probable tokens of the target's row
    draft_top: tuple[Alternative, ...] = ()  # those of the proposal row
    threshold: float | None = None  # that the block rule compared the uniform with
    part: Part = "answer"
    logprobs: tuple[TokenLogprob, ...] = ()  # of the token, then of the likeliest, if wanted


@dataclass(frozen=True, slots=True)
class CallDelta:
    """The text that a round adds to a tool call. The first delta of a call has its id and name."""

    index: int  # of the call in the answer, from 0
    id: str
    name: str
    arguments: str  # more of the JSON


@dataclass(frozen=True, slots=True)
class RejectedToken:
    """A rejected proposal.

    The first of a round was tested. Under the block rule, so were those after it, up to the first
    one that the target forbids.
    """

    id: int
    text: str
    source: str
    position: int  # in the round; the first one's is that of the token that replaced it
    draft_prob: float
    target_prob: float | None  # None: never tested
    uniform: float | None
    threshold: float | None = None


def acceptance_prob(proposal: Token | RejectedToken) -> float | None:
    """Return the probability that the accept test accepts it; None if no uniform decided.

    It is the threshold, or min(1, target / draft) under the token rule.
    """
    if isinstance(proposal, Token) and proposal.origin is not Origin.DRAFT:
        return None
    if proposal.uniform is None or proposal.threshold is not None:
        return proposal.threshold
    if proposal.target_prob is None or not proposal.draft_prob:
        return None
    return min(1.0, proposal.target_prob / proposal.draft_prob)


class Step(Struct, frozen=True, rename={"rejected": "ghosts"}):  # as stored traces name it
    """One round: the accepted proposals, the token after them, and the rejected proposals."""

    tokens: tuple[Token, ...]
    rejected: tuple[RejectedToken, ...] = ()

    @property
    def text(self) -> str:
        """Return the text that the round adds to the answer."""
        return text_in(self.tokens)

    @property
    def thought(self) -> str:
        """Return the text that the round adds to the thought before it."""
        return text_in(self.tokens, "thought")

    @property
    def items(self) -> tuple[Token | RejectedToken, ...]:
        """All of the round in the order of the text, rejected proposals before what follows them.

        Tokens of earlier rounds, whose text was buffered, may be among the first.
        """
        if not self.tokens or self.tokens[-1].origin is Origin.DRAFT:
            return (*self.tokens, *self.rejected)
        return (*self.tokens[:-1], *self.rejected, self.tokens[-1])

    def part(self, part: Part) -> "Step":
        """Return the tokens of one part; rejected proposals go with the last token."""
        tokens = tuple(token for token in self.tokens if token.part == part)
        last_part = self.tokens[-1].part if self.tokens else "answer"
        return Step(tokens, self.rejected if last_part == part else ())


Trace = tuple[Step, ...]


def text_in(tokens: Iterable[Token], part: Part = "answer") -> str:
    """Return the text of one part of some tokens."""
    return "".join(token.text for token in tokens if token.part == part)


class Loading(Struct, frozen=True, tag=True):
    """A model is being loaded."""

    role: Role
    name: str
    fraction: float


class Ready(Struct, frozen=True, tag=True):
    """The models are loaded; without a draft, `no_draft` says why in a sentence."""

    target: ModelInfo
    draft: ModelInfo | None
    no_draft: str | None
    rolls_back: bool = True  # whether the target can roll back; else nothing is proposed
    engine: EngineName = "llama"
    thinks: bool = False  # whether the target's template has markers of thoughts
    takes_effort: bool = False  # whether its template has a reasoning effort
    reading_s: float = 0.0  # seconds that a token of a prompt took last; 0 before there was one


class Prepared(Struct, frozen=True, tag=True):
    """The prompt is ready, without the `dropped_turns` oldest turns, which did not fit."""

    prompt_tokens: int
    cached_tokens: int
    dropped_turns: int


class Prefilled(Struct, frozen=True, tag=True):
    """The progress of a model's prefill."""

    role: Role
    done: int
    total: int


class Warned(Struct, frozen=True, tag=True):
    """A sentence for the user: what differs from the request, or what is wrong."""

    text: str
    severity: Severity = "warning"


class Decoded(Struct, frozen=True, tag=True):
    """One round: the result of one evaluation of the target."""

    tokens: tuple[Token, ...]  # empty while their text is buffered for a stop string
    rejected: tuple[RejectedToken, ...]  # proposals of this round
    lookahead: int  # tokens proposed
    context_used: int
    stats: Stats
    forecast: Forecast | None = None
    tool_calls: tuple[CallDelta, ...] = ()


class Finished(Struct, frozen=True, tag=True):
    """The answer has ended or was stopped.

    The text does not contain its tool calls, except for the written part of an incomplete one.
    """

    text: str
    token_ids: tuple[int, ...]  # of the text; empty if the text was cut within a token
    stop: Stop
    stats: Stats
    complete: bool = True  # False: it ended before its constraint was fulfilled
    thought: str = ""  # before the text, or in between
    tool_calls: tuple[ToolCall, ...] = ()  # each one is complete


class Failed(Struct, frozen=True, tag=True):
    """Loading or an answer failed; what was decoded before stays."""

    message: str
    kind: str  # the name of the error's class in models.errors

    @classmethod
    def of(cls, error: Exception) -> "Failed":
        """Return an error as an event."""
        return cls(str(error), type(error).__name__)


class TokenCount(Struct, frozen=True, tag=True):
    """The number of tokens in the text of a `CountTokens`."""

    tokens: int


class PrefillDone(Struct, frozen=True, tag=True):
    """A `Prefill` has ended."""


AnswerEvent = Prepared | Prefilled | Warned | Decoded | Finished | Failed  # those of one answer


class RaceReady(Struct, frozen=True, tag=True):
    """The lanes of a race are loaded; those that are `Ready` start now."""

    lanes: tuple[Ready | Failed, ...]


class LaneEvent(Struct, frozen=True, tag=True):
    """An event of one lane, with the seconds that the lane has computed so far.

    In the laboratory's lockstep, `clock` counts strides instead. The lane with the lowest is next.
    """

    lane: int
    clock: float
    event: AnswerEvent


class RaceOver(Struct, frozen=True, tag=True):
    """All lanes have ended."""


Event = Loading | Ready | AnswerEvent | RaceReady | LaneEvent | RaceOver | TokenCount | PrefillDone
