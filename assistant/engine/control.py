"""Options of the answer in progress, which clients may change during it."""

from dataclasses import dataclass, field

from assistant.request import Mode, Sampling
from models.progress import CancelFlag


@dataclass(slots=True, eq=False)
class Control:
    """Options of the answer in progress, which another thread may change.

    A mode or lookahead takes effect in the next round, a sampling in the next row, a cancel within
    the evaluation.
    """

    mode: Mode = "auto"
    lookahead: int | None = None
    cancel: CancelFlag = field(default_factory=CancelFlag)
    sampling: Sampling | None = None  # None: that of the request
