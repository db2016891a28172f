"""A lookahead that somebody chose."""

from collections.abc import Sequence

from assistant.decoding.sources.draft import Offer, Rows, Run


class Fixed:
    """Propose a given number of tokens: from the first source that offers any, at each position."""

    def __init__(self, room: int) -> None:
        self.room = room

    def next(self, offers: Sequence[Offer]) -> Offer | None:
        """Take the first offer, as far as there is room."""
        match offers:
            case [Run() as run, *_]:
                taken = run.first(self.room)
                self.room -= len(taken.tokens)
                return taken
            case [Rows() as rows, *_]:
                self.room -= 1
                return rows
        return None

    def include(self, rows: Rows, evidence: int) -> bool:
        """Draw from every row."""
        return True
