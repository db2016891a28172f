"""One answer in the form of OpenAI's deltas: its text, its thought and its calls."""

from typing import Any

from assistant.events import CallDelta, Decoded, Finished, Token
from assistant.tokens import said

Object = dict[str, Any]


class AnswerDeltas:
    """Turn the rounds of an answer into deltas, and keep the answer so far."""

    def __init__(self) -> None:
        self.text = self.thought = ""
        self.calls: list[Object] = []
        """In OpenAI's form; the last one may be incomplete."""
        self.tokens: list[Token] = []
        self.end: Finished | None = None

    def add(self, round_: Decoded) -> list[Object]:
        """Return the deltas of a round: at least one, and each has at most one piece of a call."""
        tokens = round_.tokens
        self.tokens += tokens
        deltas = self._add_text(said(tokens), said(tokens, "thought"))
        deltas += map(self._called, round_.calls)
        return deltas or [{"content": ""} if any(t.part == "answer" for t in tokens) else {}]

    def finish(self, end: Finished) -> list[Object]:
        """Note the end of the answer; return the deltas of the text that no token has brought.

        The text of a call that was cut has been sent already, in pieces of the call.
        """
        self.end = end
        is_cut = len(self.calls) > len(end.calls)
        text = "" if is_cut else end.text[len(self.text) :]
        return self._add_text(text, end.thought[len(self.thought) :])

    def _add_text(self, text: str, thought: str) -> list[Object]:
        self.text += text
        self.thought += thought
        delta = {"reasoning_content": thought, "content": text}
        delta = {name: more for name, more in delta.items() if more}
        return [delta] if delta else []

    def _called(self, delta: CallDelta) -> Object:
        """Return the delta of a piece of a call; the first piece also brings its name."""
        more: Object = {"arguments": delta.arguments}
        if delta.id:
            function = {"name": delta.name, **more}
            call = {"id": delta.id, "type": "function", "function": function}
            self.calls.append(call)
            more = {**call, "function": {**function}}
        else:
            self.calls[delta.place]["function"]["arguments"] += delta.arguments
            more = {"function": more}
        return {"tool_calls": [{"index": delta.place, **more}]}
