"""How an answer was decoded: its rounds, as they are shown and kept."""

from dataclasses import dataclass

from assistant.events import Ghost, Token


@dataclass(frozen=True, slots=True)
class Step:
    """One round: accepted proposals, those thrown away, and the token after them."""

    tokens: tuple[Token, ...]
    ghosts: tuple[Ghost, ...] = ()

    @property
    def text(self) -> str:
        """Return what the round adds to the answer."""
        return "".join(token.text for token in self.tokens)


Trace = tuple[Step, ...]
