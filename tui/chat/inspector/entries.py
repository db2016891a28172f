"""The tokens of an answer and the proposals thrown away, in the order in which they are shown."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from assistant.events import Ghost, Origin, Token
from assistant.tokens import Step, Trace
from tui.safe import safe
from tui.widgets.token_styles import GHOST, Kind, kind

VISIBLE = str.maketrans({" ": "·", "\n": "↵", "\t": "→"})
NO_TEXT = "∅"
"""Stands for a token without a text of its own, as part of a character."""


@dataclass(frozen=True, eq=False)
class InspectedToken:
    """A token or a ghost, and the round it belongs to."""

    item: Token | Ghost
    step: Step
    round: int

    @cached_property
    def text(self) -> str:
        """What is shown in the line, with line breaks made visible; a ghost breaks none."""
        breaks = "↵" if isinstance(self.item, Ghost) else "↵\n"
        return safe(self.item.text).replace("\n", breaks).replace("\t", "→   ") or NO_TEXT

    @property
    def kind(self) -> Kind:
        """What it is shown as."""
        return GHOST if isinstance(self.item, Ghost) else kind(self.item)

    @property
    def name(self) -> str:
        """The text with every blank made visible."""
        return visible(self.item.text)

    @property
    def tested(self) -> Ghost | None:
        """The proposal that was rejected at this position, if any."""
        if isinstance(self.item, Ghost):
            return self.item if self.item.target_prob is not None else None
        ghost = self.step.ghosts[0] if self.step.ghosts else None
        replaces = ghost and ghost.position == self.item.position and ghost.target_prob is not None
        return ghost if replaces and self.item is self.step.tokens[-1] else None

    @property
    def rows(self) -> Token | None:
        """The token that holds the rows of this place: a ghost shares those of what replaced it."""
        if isinstance(self.item, Token):
            return self.item
        return self.successor

    @property
    def successor(self) -> Token | None:
        """The token that replaced this ghost, if it is the first of its round."""
        last = self.step.tokens[-1] if self.step.tokens else None
        return last if last and last.position == self.item.position else None


def visible(text: str) -> str:
    """Return a text with every blank, and its absence, made visible."""
    return safe(text.translate(VISIBLE)) or NO_TEXT


def entries(trace: Trace) -> tuple[InspectedToken, ...]:
    """Return all tokens and ghosts: of each round what was accepted, thrown away, drawn."""
    return tuple(entry for number, step in enumerate(trace, 1) for entry in _round(step, number))


def _round(step: Step, number: int) -> Iterator[InspectedToken]:
    drawn = [token for token in step.tokens[-1:] if token.origin is not Origin.DRAFT]
    kept = step.tokens[: len(step.tokens) - len(drawn)]
    shown: tuple[Token | Ghost, ...] = (*kept, *step.ghosts, *drawn)
    for item in shown:
        yield InspectedToken(item, step, number)
