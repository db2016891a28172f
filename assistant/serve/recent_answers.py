"""Recent answers in memory: the tokens of each, and the last suggestion in an editor.

Clients send answers back as text. Tokenising it again may give other tokens than were decoded, but
the decoded ones are cached. And the next suggestion is often the rest of the last one.
"""

import json
from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from assistant.calling.formats import read_json
from assistant.events import Finished
from assistant.prompt.infill import MOST_TYPED
from assistant.request import Message, Request, ToolCall
from assistant.serve.completion_objects import AnswerDeltas

MAX_ANSWERS_REMEMBERED = 64  # in memory alone
MAX_SUGGESTIONS_REMEMBERED = 16  # many are replaced before they have any text
SAME_PLACE = 1_000  # characters that stand in one place of a file alone; a whole one may have fewer
_AnswerKey = tuple[str, tuple[tuple[str, str], ...]]


class AnswerTokens:
    """Remember the tokens of answers that clients may send back as text."""

    def __init__(self) -> None:
        self._tokens: dict[_AnswerKey, tuple[int, ...]] = {}  # the newest last

    def remember(self, answer: Finished) -> None:
        """Remember an answer, unless it has a thought: the template rewrites such an answer."""
        if answer.thought:
            return
        key = _answer_key(answer.text, answer.tool_calls)
        self._tokens.pop(key, None)
        self._tokens[key] = answer.token_ids
        if len(self._tokens) > MAX_ANSWERS_REMEMBERED:
            del self._tokens[next(iter(self._tokens))]

    def with_tokens(self, message: Message) -> Message:
        """Return a message; if it is an answer that is remembered, with its tokens."""
        key = _answer_key(message.content, message.tool_calls)
        tokens = self._tokens.get(key, ()) if message.role == "assistant" else message.token_ids
        return replace(message, token_ids=tokens)


def _answer_key(text: str, tool_calls: Sequence[ToolCall]) -> _AnswerKey:
    """Return the key of an answer, without the ids of its calls and the layout of their JSON."""
    read = ((call.name, read_json(call.arguments)) for call in tool_calls)
    return text, tuple((name, json.dumps(value, sort_keys=True)) for name, value in read)


class FilledGap(NamedTuple):
    """An answer to a gap."""

    gap: Request  # without the text before it
    before: str  # the text before it
    answer: AnswerDeltas
    typed: Sequence[tuple[int, str]] = ()  # tokens before the answer, and their texts
    rest: str = ""  # what was known of the answer

    def after(self, gap: Request, text: str, answer: AnswerDeltas) -> "FilledGap | None":
        """Return the suggestion after `text` if that is a part of this; `answer` collects it."""
        tokens = [*self.typed, *((token.id, token.text) for token in self.answer.tokens)]
        whole = self.before + "".join(text for _, text in tokens)
        agrees = text.startswith(self.before) and whole.startswith(text) and gap == self.gap
        if not agrees or gap.constraint or gap.logprobs is not None:
            return None
        ends = [*accumulate((len(text) for _, text in tokens), initial=len(self.before))]
        typed = bisect_left(ends, len(text))
        if typed > MOST_TYPED or not whole[ends[typed] :]:  # the last token may have been cut
            return None
        lead = whole[len(text) : ends[typed]]  # of a token that is typed in part
        stops = (*gap.stop_strings, gap.infill.suffix_start if gap.infill else "")
        if any(stop.startswith(lead[at:]) for stop in stops for at in range(len(lead))):
            return None  # the tokens after it have only the end of a stop string
        answer.lead = lead
        return FilledGap(self.gap, self.before, answer, tokens[:typed], whole[ends[typed] :])


class LastSuggestions:
    """Remember the last answers to gaps: what is typed of one begins it, in its own tokens.

    So nothing is evaluated again while a suggestion is typed.
    """

    def __init__(self) -> None:
        self._sent = self._text = ""  # before the cursor: as sent, and with what stood before that
        self._last = deque[FilledGap](maxlen=MAX_SUGGESTIONS_REMEMBERED)  # the newest first

    def predict(self, request: Request, answer: AnswerDeltas) -> Request:
        """Return a request with what is typed and known of its answer, which `answer` collects."""
        text = self._with_earlier("".join(message.content for message in request.messages))
        gap = replace(request, messages=())
        known = (suggestion.after(gap, text, answer) for suggestion in self._last)
        new = next(filter(None, known), FilledGap(gap, text, answer))
        self._last.appendleft(new)
        infill = gap.infill and replace(gap.infill, typed=tuple(token for token, _ in new.typed))
        before = (Message("user", new.before),)
        return replace(gap, messages=before, prediction=new.rest, infill=infill)

    def _with_earlier(self, sent: str) -> str:
        """Return the text before the cursor, with what was sent earlier and stood before it.

        Of a long file, editors send a part, which begins later with each new line.
        """
        at, lines = self._text.find(sent[:SAME_PLACE]), sent.count("\n") - self._sent.count("\n")
        is_part = len(sent) >= SAME_PLACE and 0 <= lines < 3 and 0 < at <= len(sent)
        self._sent, self._text = sent, self._text[:at] + sent if is_part else sent
        return self._text
