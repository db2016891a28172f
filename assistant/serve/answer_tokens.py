"""The tokens of recent answers.

Clients send answers back as text, which may be tokenised otherwise than it was decoded, and the
caches hold the latter.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import msgspec

from assistant.events import Finished
from assistant.request import Message, ToolCall

MAX_ANSWERS_REMEMBERED = 64
"""Answers whose tokens are remembered, in memory alone."""
_Said = tuple[str, tuple[tuple[str, bytes], ...]]


class AnswerTokens:
    """Give answers that come back in a conversation the tokens that they had."""

    def __init__(self) -> None:
        self._tokens: OrderedDict[_Said, tuple[int, ...]] = OrderedDict()

    def keep(self, answer: Finished) -> None:
        """Remember an answer; of one with a thought, it is the template that writes it down."""
        if answer.thought:
            return
        said = _said(answer.text, answer.calls)
        self._tokens[said] = answer.token_ids
        self._tokens.move_to_end(said)
        if len(self._tokens) > MAX_ANSWERS_REMEMBERED:
            self._tokens.popitem(last=False)

    def recall(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        """Return a conversation whose answers have their tokens, where they are known."""
        return tuple(
            replace(message, token_ids=self._tokens.get(_said(message.content, message.calls), ()))
            if message.role == "assistant"
            else message
            for message in messages
        )


def _said(text: str, calls: Sequence[ToolCall]) -> _Said:
    """Return what tells answers apart: not the ids of calls, nor how their JSON is written."""
    return text, tuple((call.name, _meant(call.arguments)) for call in calls)


def _meant(arguments: str) -> bytes:
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments), order="deterministic")
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return arguments.encode()
