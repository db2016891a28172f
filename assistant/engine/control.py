"""Options of the answer in progress, which another thread may change meanwhile."""

from dataclasses import dataclass, field

from assistant.request import Mode, Sampling
from models.progress import CancelFlag


@dataclass(slots=True, eq=False)
class Control:
    """A mode or lookahead takes effect in the next round, a sampling in the next row."""

    mode: Mode = "auto"
    lookahead: int | None = None
    cancel: CancelFlag = field(default_factory=CancelFlag)  # takes effect within the evaluation
    sampling: Sampling | None = None  # None: that of the request
