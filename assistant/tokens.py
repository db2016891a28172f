"""How an answer was decoded: its rounds, as they are shown and kept."""

from collections.abc import Iterable
from dataclasses import dataclass

from assistant.events import Ghost, Part, Token


@dataclass(frozen=True, slots=True)
class Step:
    """One round: accepted proposals, those thrown away, and the token after them."""

    tokens: tuple[Token, ...]
    ghosts: tuple[Ghost, ...] = ()

    @property
    def text(self) -> str:
        """Return what the round adds to the answer."""
        return said(self.tokens)

    @property
    def thought(self) -> str:
        """Return what the round adds to the thought before it."""
        return said(self.tokens, "thought")

    def part(self, part: Part) -> "Step":
        """Return what the round adds to one part; rejected proposals go with its last token."""
        tokens = tuple(token for token in self.tokens if token.part == part)
        whose = self.tokens[-1].part if self.tokens else "answer"
        return Step(tokens, self.ghosts if whose == part else ())


Trace = tuple[Step, ...]


def said(tokens: Iterable[Token], part: Part = "answer") -> str:
    """Return the text of one part of some tokens."""
    return "".join(token.text for token in tokens if token.part == part)
