"""Everything a person may set before the chat opens."""

from dataclasses import dataclass, field

from assistant.request import Mode
from assistant.warp import Sampling


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line and the configuration ask for; changes in the app go on top."""

    target: str | None = None  # a path, a catalogue name or repo:file; None: the default pair's
    draft: str | None = None  # None: the one that belongs to the target
    mode: Mode = "auto"
    lookahead: int | None = None  # None: chosen while decoding
    sampling: Sampling = field(default_factory=Sampling)
    seed: int | None = None
    max_tokens: int | None = None
    n_ctx: int = 8192
    threads: int | None = None
    gpu_layers: int | None = None
    system: str | None = None
    offline: bool = False
