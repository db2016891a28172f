"""The engine's events, in order. Plain frozen values: they may cross a process.

Events are tagged with their names there, so that one may hold another.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal

from msgspec import Struct

from assistant.decoding.sampling import Origin as Origin
from assistant.request import ToolCall
from assistant.stats import Forecast as Forecast
from assistant.stats import Reason as Reason
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
Part = Literal["answer", "thought", "call", "marker"]
"""What a token is of an answer; markers stand around thoughts, and are none."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A loaded model, as a user would ask about it."""

    role: Role
    name: str
    path: Path
    size: int  # bytes of the file
    n_ctx: int
    n_vocab: int
    load_s: float


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another token of the same row."""

    id: int
    text: str
    prob: float


@dataclass(frozen=True, slots=True)
class Token:
    """One token of the answer, the text it completes, and where it came from."""

    id: int
    text: str
    origin: Origin
    source: str | None  # which draft source proposed it (or what it replaced); None for ArS
    target_prob: float  # under the target's warped row
    draft_prob: float | None  # under the proposal row
    position: int = 0  # its place in the round
    uniform: float | None = None  # what the accept test drew for the proposal at this place
    target_top: tuple[Alternative, ...] = ()  # the most probable tokens of the target's row
    draft_top: tuple[Alternative, ...] = ()  # and of the proposal row
    threshold: float | None = None  # that the block rule compared the uniform with
    part: Part = "answer"

    @property
    def acceptance_prob(self) -> float | None:
        """The probability that the accept test kept it; None when no uniform decided."""
        return _acceptance(self) if self.origin is Origin.DRAFT else None


@dataclass(frozen=True, slots=True)
class CallDelta:
    """What a round adds to a call of a tool; its id and its name come first, and once."""

    place: int  # among the calls of the answer, from 0
    id: str
    name: str
    arguments: str  # more of the JSON


@dataclass(frozen=True, slots=True)
class RejectedToken:
    """A proposal that was thrown away.

    The first of a round was tested. Under the block rule so were those after it, up to one that
    the target forbids.
    """

    id: int
    text: str
    source: str
    position: int  # its place in the round, that of the token that replaced it for the first
    draft_prob: float
    target_prob: float | None  # None: never tested
    uniform: float | None
    threshold: float | None = None

    @property
    def acceptance_prob(self) -> float | None:
        """The probability that the accept test had kept it; None when no uniform decided."""
        return _acceptance(self)


def _acceptance(proposal: Token | RejectedToken) -> float | None:
    """Return the threshold, which is min(1, target / draft) under the token rule."""
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
        """Return what the round adds to the answer."""
        return said(self.tokens)

    @property
    def thought(self) -> str:
        """Return what the round adds to the thought before it."""
        return said(self.tokens, "thought")

    def part(self, part: Part) -> "Step":
        """Return what the round adds to one part; rejected proposals go with its last token."""
        tokens = tuple(token for token in self.tokens if token.part == part)
        whose = self.tokens[-1].part if self.tokens else "answer"
        return Step(tokens, self.rejected if whose == part else ())


Trace = tuple[Step, ...]


def said(tokens: Iterable[Token], part: Part = "answer") -> str:
    """Return the text of one part of some tokens."""
    return "".join(token.text for token in tokens if token.part == part)


class Loading(Struct, frozen=True, tag=True):
    """A model is being read."""

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
    thinks: bool = False  # whether the target has marks for thoughts
    takes_effort: bool = False  # whether it can be told how much to think


class Prepared(Struct, frozen=True, tag=True):
    """The prompt is built, without the `dropped_turns` oldest turns, which did not fit."""

    prompt_tokens: int
    cached_tokens: int
    dropped_turns: int


class Prefilled(Struct, frozen=True, tag=True):
    """A part of the prompt has been read by one of the models."""

    role: Role
    done: int
    total: int


class Warned(Struct, frozen=True, tag=True):
    """A sentence for the user: what differs from the request, or what is wrong."""

    text: str
    severity: Severity = "warning"


class Decoded(Struct, frozen=True, tag=True):
    """One round: what one evaluation of the target yielded."""

    tokens: tuple[Token, ...]  # empty while their text is held back by a stop string
    rejected: tuple[RejectedToken, ...]  # proposals of this round
    lookahead: int  # tokens proposed
    context_used: int
    stats: Stats
    forecast: Forecast | None = None
    tool_calls: tuple[CallDelta, ...] = ()


class Finished(Struct, frozen=True, tag=True):
    """The answer is over, also when it was stopped.

    The text has nothing of its calls; but one that was cut is there as far as the model wrote it.
    """

    text: str
    token_ids: tuple[int, ...]  # what the caches hold; empty when text and tokens part ways
    stop: Stop
    stats: Stats
    complete: bool = True  # False: it ended before it had the form that was asked for
    thought: str = ""  # what came before the text, or in between
    tool_calls: tuple[ToolCall, ...] = ()  # of tools, that it asks for; each one is whole


class Failed(Struct, frozen=True, tag=True):
    """Loading or an answer failed; what was decoded before stays valid."""

    message: str
    kind: str  # the name of the error's class in models.errors


class TokenCount(Struct, frozen=True, tag=True):
    """The number of tokens in the text of a `CountTokens`."""

    label: str
    tokens: int


class PrefillDone(Struct, frozen=True, tag=True):
    """A `Prefill` has nothing left to do."""


AnswerEvent = Prepared | Prefilled | Warned | Decoded | Finished | Failed
"""The events of one answer."""


class RaceReady(Struct, frozen=True, tag=True):
    """The lanes of a race are loaded; those that are `Ready` start now."""

    lanes: tuple[Ready | Failed, ...]


class LaneEvent(Struct, frozen=True, tag=True):
    """An event of one lane, with the seconds that the lane has computed so far.

    In a lockstep of the laboratory, `clock` counts strides instead. The lowest clock goes next.
    """

    lane: int
    clock: float
    event: AnswerEvent


class RaceOver(Struct, frozen=True, tag=True):
    """All lanes have ended."""


Event = Loading | Ready | AnswerEvent | RaceReady | LaneEvent | RaceOver | TokenCount | PrefillDone
