"""What the person may change while an answer is being decoded."""

from assistant.request import Mode
from models.cancel import CancelFlag


class Control:
    """Steer an answer under way, from another thread.

    A new mode or lookahead takes effect at the next round, a cancel within the evaluation.
    """

    def __init__(self, mode: Mode = "auto", lookahead: int | None = None) -> None:
        self.cancel = CancelFlag()
        self.mode: Mode = mode
        self.lookahead = lookahead
