"""One answer as its client is told of it: what is said, what was thought, what is to be called."""

from collections.abc import Sequence
from typing import Any

from assistant.calling.reader import CallDelta, CallReader
from assistant.events import Finished, Token
from assistant.tokens import said

Object = dict[str, Any]


class AnswerDeltas:
    """Say what each round adds to an answer, in OpenAI's words, and keep what it has come to."""

    def __init__(self) -> None:
        self.text = self.thought = ""
        self.calls: list[Object] = []
        """OpenAI's; the last one may be cut."""
        self._reader = CallReader()

    def more(self, tokens: Sequence[Token]) -> list[Object]:
        """Return the deltas of a round, at least one, each with one piece of a call at most."""
        deltas = self._more(said(tokens), said(tokens, "thought"))
        for delta in self._reader.read(tokens):
            deltas += self._called(delta)
        return deltas or [{"content": ""} if any(t.part == "answer" for t in tokens) else {}]

    def rest(self, end: Finished) -> list[Object]:
        """Return the deltas of what an answer says without tokens.

        A call that was cut has been told already; otherwise it is text.
        """
        is_cut = len(self.calls) > len(self._reader.calls)
        text = "" if is_cut else end.text[len(self.text) :]
        return self._more(text, end.thought[len(self.thought) :])

    def _more(self, text: str, thought: str) -> list[Object]:
        self.text += text
        self.thought += thought
        delta = {"reasoning_content": thought, "content": text}
        delta = {name: more for name, more in delta.items() if more}
        return [delta] if delta else []

    def _called(self, delta: CallDelta) -> list[Object]:
        """Return the deltas of a piece of a call, before the first of which it is named."""
        deltas: list[Object] = []
        if delta.id:
            function = {"name": delta.name, "arguments": ""}
            call = {"id": delta.id, "type": "function", "function": function}
            self.calls.append(call)
            deltas.append({"index": delta.place, **call, "function": {**function}})
        self.calls[delta.place]["function"]["arguments"] += delta.arguments
        deltas.append({"index": delta.place, "function": {"arguments": delta.arguments}})
        return [{"tool_calls": [each]} for each in deltas]
