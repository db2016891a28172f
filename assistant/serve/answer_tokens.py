"""The tokens of recent answers.

Clients send answers back as text, which may be tokenised otherwise than it was decoded, and the
caches hold the latter.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace

from assistant.events import Finished
from assistant.request import Message

MAX_ANSWERS_REMEMBERED = 64
"""Answers whose tokens are remembered, in memory alone."""


class AnswerTokens:
    """Give answers that come back in a conversation the tokens that they had."""

    def __init__(self) -> None:
        self._tokens: OrderedDict[str, tuple[int, ...]] = OrderedDict()

    def keep(self, answer: Finished) -> None:
        """Remember an answer; of one with a thought, it is the template that writes it down."""
        if answer.thought:
            return
        self._tokens[answer.text] = answer.token_ids
        self._tokens.move_to_end(answer.text)
        if len(self._tokens) > MAX_ANSWERS_REMEMBERED:
            self._tokens.popitem(last=False)

    def recall(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        """Return a conversation whose answers have their tokens, where they are known."""
        return tuple(
            replace(message, token_ids=self._tokens.get(message.content, ()))
            if message.role == "assistant"
            else message
            for message in messages
        )
