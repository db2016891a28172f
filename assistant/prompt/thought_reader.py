"""The thoughts of an answer under way: where they end, and how one over its budget is ended.

Both depend on the tokens of the context alone, drafted ones included, as exact verification needs.
"""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

from assistant.prompt.thinking import NO_MARKERS, START, Markers, PartPosition
from assistant.streamed_text import TokenText
from models.base import common_prefix


class AnswerBeginning(NamedTuple):
    """Where an answer begins in its context, and how its tokens are decoded."""

    text: TokenText
    markers: Markers = NO_MARKERS
    at: PartPosition = START  # before its first token; the prompt may have opened a thought
    start: int = 0  # the index of its first token in the context


class ThoughtState(NamedTuple):
    """What is known of an answer after some of its tokens."""

    at: PartPosition
    begun: bytes = b""  # of a character that is not complete
    tokens: int = 0  # read so far
    thought: int = 0  # tokens within thoughts
    closing: int = 0  # tokens at the end that are the beginning of the closing marker
    answer: int | None = None  # tokens before the answer proper; None while that has not begun


class ThoughtReader:
    """Read the thoughts of one answer, in whatever order its contexts are asked about.

    Args:
        closing: the tokens of the closing marker.
        budget: the most tokens within thoughts; None for no limit.
    """

    def __init__(
        self, beginning: AnswerBeginning, closing: Sequence[int] = (), budget: int | None = None
    ) -> None:
        self._text, self._markers, at, self._start = beginning
        self._opened, self._closing = at.place == "thought", tuple(closing)
        self._read: list[int] = []
        self._states = [ThoughtState(at)]  # before the first token that was read and after each
        within = ThoughtState(PartPosition("thought"))
        closes = reduce(self._after, self._closing, within).at.place == "answer"
        self.budget = budget if closes else None

    def state(self, context: Sequence[int]) -> ThoughtState:
        """Return the state of the answer at the end of a context."""
        answer = context[self._start :]
        same = common_prefix(self._read, answer)
        del self._read[same:], self._states[same + 1 :]
        for token in answer[same:]:
            self._read.append(token)
            self._states.append(self._after(self._states[-1], token))
        return self._states[-1]

    def answer_start(self, context: Sequence[int]) -> int | None:
        """Return the index of the first token after the thought that the prompt has opened.

        None while that thought has not ended; the answer's first token if the prompt opens none.
        """
        if not self._opened:
            return self._start
        before = self.state(context).answer
        return None if before is None else self._start + before

    def forced(self, context: Sequence[int]) -> int | None:
        """Return the token that must follow a context; None where the model is free.

        Within a thought whose budget is spent this is the next token of the closing marker. If the
        thought already ends with the first k tokens of the marker, that is token k.
        """
        if self.budget is None:
            return None
        state = self.state(context)
        is_over = state.at.place == "thought" and state.thought >= self.budget
        return self._closing[state.closing] if is_over else None

    def _after(self, state: ThoughtState, token: int) -> ThoughtState:
        """Return the state after one more token."""
        within = state.at.place == "thought"
        text, begun = self._text.after(state.begun, token)
        at, _ = self._markers.read(state.at, text)
        tokens, answer = state.tokens + 1, state.answer
        if answer is None and at.place == "answer":
            answer = tokens
        closing = self._closes((*self._closing[: state.closing], token)) if within else 0
        return ThoughtState(at, begun, tokens, state.thought + within, closing, answer)

    def _closes(self, end: tuple[int, ...]) -> int:
        """Return the length of the longest proper prefix of the closing marker that ends `end`."""
        longest = min(len(end), len(self._closing) - 1)
        return next((n for n in range(longest, 0, -1) if end[-n:] == self._closing[:n]), 0)
