"""Where thoughts end: found by their tokens, or forced once they have had their share."""

from collections.abc import Callable, Sequence

from assistant.chat.thinking import Markers, PartPosition
from models.prefix import shared

MOST_KNOWN = 64
"""Beginnings of answers that are remembered: those of the rounds under way."""

AnswerStart = Callable[[Sequence[int]], int | None]
"""Returns the place in a context where the answer starts; None before the thought has ended."""


class ThoughtEnd:
    """Find where the answer starts in contexts that begin with a thought, by their tokens alone.

    Args:
        markers: of the model.
        spell: gives the text of a token, also of one that is a marker.
        at: where the text is before the first token.
        start: the place of that token in the context.
    """

    def __init__(
        self, markers: Markers, spell: Callable[[int], str], at: PartPosition, start: int
    ) -> None:
        self._markers, self._spell, self._start = markers, spell, start
        self._read: list[int] = []  # tokens, up to the end of the thought
        self._at = [at]  # before the first of them and after each

    def __call__(self, context: Sequence[int]) -> int | None:
        """Return the place after the token that ends the thought."""
        same = shared(self._read, context[self._start :])
        del self._read[same:], self._at[same + 1 :]
        for token in context[self._start + same :]:
            if self._at[-1].place == "answer":
                break
            self._read.append(token)
            self._at.append(self._markers.read(self._at[-1], self._spell(token))[0])
        return self._start + len(self._read) if self._at[-1].place == "answer" else None


class ThoughtBudget:
    """End thoughts that have had their share: say which token must follow.

    That depends on the tokens of the answer alone, those of a draft included.

    Args:
        markers: of the model.
        spell: gives the text of a token, also of one that is a marker.
        at: where the answer is before its first token.
        start: the place of that token in the context.
        tokens: how many a thought may have.
        closing: the tokens that end it.
    """

    def __init__(
        self,
        markers: Markers,
        spell: Callable[[int], str],
        at: PartPosition,
        start: int,
        tokens: int,
        closing: Sequence[int],
    ) -> None:
        self._markers, self._spell = markers, spell
        self._begin, self._start = at, start
        self._tokens, self._closing = tokens, tuple(closing)
        self._known: dict[tuple[int, ...], tuple[PartPosition, int]] = {}

    def forced(self, context: Sequence[int]) -> int | None:
        """Return the token that has to follow `context`; None where the model is free."""
        at, thought = self._read(tuple(context[self._start :]))
        place = thought - self._tokens
        if at.place == "thought" and 0 <= place < len(self._closing):
            return self._closing[place]
        return None

    def _read(self, answer: tuple[int, ...]) -> tuple[PartPosition, int]:
        """Return where an answer is, and how many of its tokens came within a thought."""
        known = len(answer)
        while known and answer[:known] not in self._known:
            known -= 1
        at, thought = self._known.get(answer[:known], (self._begin, 0))
        for token in answer[known:]:
            thought += at.place == "thought"
            at, _ = self._markers.read(at, self._spell(token))
        self._known[answer] = at, thought
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        return at, thought
