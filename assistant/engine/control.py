"""Options of the answer in progress, which clients may change during it."""

from assistant.request import Mode, Sampling
from models.progress import CancelFlag


class Control:
    """Options of the answer in progress, which another thread may change.

    A mode or lookahead takes effect in the next round, a sampling in the next row, a cancel within
    the evaluation.
    """

    def __init__(
        self, mode: Mode = "auto", lookahead: int | None = None, cancel: CancelFlag | None = None
    ) -> None:
        self.cancel = cancel or CancelFlag()
        self.mode: Mode = mode
        self.lookahead = lookahead
        self.sampling: Sampling | None = None
        """None: that of the request."""
