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
    """Everything that decides an answer: a snapshot, so that settings may change meanwhile."""

    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    mode: Mode = "auto"
    lookahead: int | None = None  # tokens to propose per round; None: chosen while decoding
    max_tokens: int | None = None  # None: until the model stops or the context is full
    seed: int | None = None
    stop_strings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, least in (("lookahead", 0), ("max_tokens", 1), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"{name} must be {least} or more: {value}")
