"""What the engine says, in the order it says it. Plain frozen values: they may cross a process."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


class Origin(StrEnum):
    """The distribution that a token was drawn from."""

    DRAFT = "draft"  # proposed by the draft and accepted by the target
    RESIDUAL = "residual"  # drawn from the residual in place of a rejected proposal
    TARGET = "target"  # drawn from the target itself: ArS, or the extra token after full acceptance


class Stop(StrEnum):
    """Why an answer ended."""

    STOP_TOKEN = "stop-token"
    LENGTH = "length"
    STOP_STRING = "stop-string"
    CONTEXT = "context"
    CANCELLED = "cancelled"


Role = Literal["target", "draft"]


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A loaded model, as a person would ask about it."""

    role: Role
    name: str
    path: str
    size: int  # bytes of the file
    n_ctx: int
    n_vocab: int
    load_s: float


@dataclass(frozen=True, slots=True)
class Token:
    """One token of the answer, the text it completes, and where it came from."""

    id: int
    text: str
    origin: Origin
    source: str | None  # which draft source proposed it (or what it replaced); None for ArS
    target_prob: float  # under the target's warped row
    draft_prob: float | None  # under the proposal row


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts and times of one answer; the rates derive from them."""

    mode: str
    rounds: int = 0
    drafted: int = 0
    tested: int = 0  # proposals that met the accept test; those after a rejection never do
    accepted: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0  # prompt tokens that needed no evaluation
    generated_tokens: int = 0  # the stop token counts: it was decoded
    prefill_s: float = 0.0
    first_token_s: float = 0.0  # from the request to the first token
    decode_s: float = 0.0  # from the end of the target's prefill to the last token
    lookahead_counts: Mapping[int, int] = field(default_factory=dict)  # rounds by tokens proposed

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted over tested; None when nothing was tested."""
        return self.accepted / self.tested if self.tested else None

    @property
    def tokens_per_eval(self) -> float:
        """Generated tokens over target evaluations."""
        return self.generated_tokens / self.rounds if self.rounds else 0.0

    @property
    def tokens_per_s(self) -> float:
        """Generated tokens over decoding time."""
        return self.generated_tokens / self.decode_s if self.decode_s else 0.0


@dataclass(frozen=True, slots=True)
class Loading:
    """A model is being read."""

    role: Role
    name: str
    fraction: float


@dataclass(frozen=True, slots=True)
class Ready:
    """The models are loaded; without a draft, `no_draft` says why in a sentence."""

    target: ModelInfo
    draft: ModelInfo | None
    no_draft: str | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """The prompt is built; `dropped_turns` oldest turns did not fit any more."""

    prompt_tokens: int
    cached_tokens: int
    dropped_turns: int


@dataclass(frozen=True, slots=True)
class Prefilled:
    """A part of the prompt has been read by one of the models."""

    role: Role
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something goes on differently from what was asked, in a sentence."""

    text: str


@dataclass(frozen=True, slots=True)
class Decoded:
    """One round: what one evaluation of the target yielded."""

    tokens: tuple[Token, ...]  # empty while their text is held back by a stop string
    rejected: tuple[int, ...]  # ids proposed in this round and thrown away
    lookahead: int  # tokens proposed
    context_used: int
    stats: Stats


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is over, also when it was stopped."""

    text: str
    token_ids: tuple[int, ...]  # what the caches hold; empty when text and tokens part ways
    stop: Stop
    stats: Stats


@dataclass(frozen=True, slots=True)
class Failed:
    """Loading or an answer came to nothing; what was decoded before stays valid."""

    message: str
    kind: str  # the name of the error's class in models.errors


Event = Loading | Ready | Prepared | Prefilled | Noticed | Decoded | Finished | Failed
