"""What the person may change while an answer is being decoded."""

from assistant.request import Mode, Sampling
from models.cancel import CancelFlag


class Control:
    """Steer an answer under way, from another thread.

    A mode, lookahead or sampling takes effect at the next round, a cancel within the evaluation.
    """

    def __init__(self, mode: Mode = "auto", lookahead: int | None = None) -> None:
        self.cancel = CancelFlag()
        self.mode: Mode = mode
        self.lookahead = lookahead
        self.sampling: Sampling | None = None
        """None: as the request has it."""
