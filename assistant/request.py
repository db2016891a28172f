"""What is asked of the engine. Plain frozen values: they may cross a process."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from assistant.warp import Sampling
from models.errors import UsageError

Mode = Literal["ars", "sps", "auto"]


@dataclass(frozen=True, slots=True)
class Setup:
    """Which models to load, and how."""

    target: Path
    draft: Path | None = None
    n_ctx: int = 8192
    threads: int | None = None  # None: one per physical core
    gpu_layers: int | None = None  # None: all, when this build can
    measure: bool = True  # what rounds cost here, a second or two; mode auto needs it


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str
    token_ids: tuple[int, ...] = ()  # of an answer, as generated: keeps the caches valid


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
    alternatives: int = 0  # how many of the most probable tokens to report with each token

    @property
    def continues(self) -> bool:
        """Whether the last message is an answer to be gone on with."""
        return bool(self.messages) and self.messages[-1].role == "assistant"

    def __post_init__(self) -> None:
        for name, least in (("lookahead", 0), ("max_tokens", 1), ("seed", 0), ("alternatives", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{name} must be {least} or more: {value}")


@dataclass(frozen=True, slots=True)
class Count:
    """A text whose tokens are to be counted; `label` comes back with the answer."""

    label: str
    text: str


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
