"""OpenAI's objects for responses: the items of an answer as events, and the whole response."""

import secrets
from collections.abc import Iterable, Iterator

from assistant.events import Finished, Token
from assistant.serve.api_error import ApiError
from assistant.serve.completion_objects import REASONS, AnswerDeltas, Completion, Object, own_end
from assistant.serve.completion_schema import CompletionRequest

# What begins the ids of items, the name of the events that add to them, and the fields of new ones.
_ITEMS: dict[str, tuple[str, str, Object]] = {
    "reasoning": ("rs", "reasoning_text", {"summary": [], "content": []}),
    "message": ("msg", "output_text", {"role": "assistant", "content": []}),
    "function_call": ("fc", "function_call_arguments", {"arguments": ""}),
}


class Response(Completion):
    """Make the objects of one response out of the deltas of a chat completion."""

    PREFIX, DONE = "resp_", b""

    def __init__(self, chat_request: CompletionRequest) -> None:
        super().__init__(chat_request)
        self._items: list[Object] = []  # the last one is open
        self._text, self._logprobs = "", list[Object]()  # of the open one
        self._events = 0

    def whole(self, answer: AnswerDeltas, end: Finished) -> Object:
        """Return an answer that has ended as one object."""
        said = {"reasoning_content": answer.thought, "content": answer.text}
        deltas = [{**said, "tool_calls": answer.tool_calls}]
        *_, last = [*self.more(deltas, answer.tokens), *self.finish(answer, end)]
        return dict(last["response"])

    def begin(self) -> Iterator[Object]:
        """Yield that the response has begun."""
        for kind in ("created", "in_progress"):
            yield self._event(kind, response=self._response("in_progress"))

    def more(self, deltas: Iterable[Object], tokens: Iterable[Token] = ()) -> Iterator[Object]:
        """Yield what deltas add to the items."""
        rows = (self.logprobs(tokens) or {}).get("content", [])
        for delta in deltas:
            if thought := delta.get("reasoning_content"):
                yield from self._add("reasoning", thought)
            if text := delta.get("content"):
                yield from self._add("message", text, rows)
                rows = []
            for call in delta.get("tool_calls", ()):
                function = {**call["function"]}
                arguments = function.pop("arguments")
                new = {"call_id": call["id"], **function} if "id" in call else {}
                yield from self._add("function_call", arguments, **new)

    def finish(self, answer: AnswerDeltas, end: Finished) -> Iterator[Object]:
        """Yield the end of the last item, and of the response."""
        status = "incomplete" if end.stop in REASONS else "completed"
        if not answer.text and not answer.tool_calls:
            yield from self._add("message", "")
        yield from self._close(status)
        cut = {"reason": "max_output_tokens"} if end.stop in REASONS else None
        own = {"incomplete_details": cut, "usage": _usage(end), "specchat": own_end(end)}
        yield self._event(status, response={**self._response(status), **own})

    def failed(self, api_error: ApiError) -> Object:
        """Return the event of an error."""
        error = api_error.body["error"]
        return {**error, "error": error, "type": "error", "sequence_number": self._events}

    def _event(self, kind: str, **more: object) -> Object:
        self._events += 1
        return {"type": f"response.{kind}", "sequence_number": self._events - 1, **more}

    def _of_item(self, kind: str, **more: object) -> Object:
        """Return an event of the open item."""
        address = {"item_id": self._items[-1]["id"], "output_index": len(self._items) - 1}
        return self._event(kind, **address, content_index=0, **more)

    def _add(
        self, kind: str, text: str, rows: Iterable[Object] = (), **new: str
    ) -> Iterator[Object]:
        """Yield what a text adds to the open item, or to a new one, if it is of another kind."""
        prefix, name, fields = _ITEMS[kind]
        if new or not self._items or self._items[-1]["type"] != kind:
            yield from self._close("completed")
            id_ = f"{prefix}_{secrets.token_hex(12)}"
            self._items.append({"id": id_, "type": kind, "status": "in_progress", **fields, **new})
            yield self._of_item("output_item.added", item={**self._items[-1]})
            if kind != "function_call":
                yield self._of_item("content_part.added", part=self._part(name))
        self._text += text
        self._logprobs += rows
        yield self._of_item(f"{name}.delta", delta=text, logprobs=[*rows])

    def _part(self, name: str) -> Object:
        own = {"text": self._text, "logprobs": self._logprobs}
        return {"type": name, "annotations": [], **own}

    def _close(self, status: str) -> Iterator[Object]:
        """Yield the end of the open item, if there is one."""
        if not self._items:
            return
        item = self._items[-1]
        _, name, _ = _ITEMS[item["type"]]
        item["status"] = status
        if item["type"] == "function_call":
            item["arguments"] = self._text
            yield self._of_item(f"{name}.done", name=item["name"], arguments=self._text)
        else:
            part = self._part(name)
            item["content"] = [part]
            yield self._of_item(f"{name}.done", text=self._text, logprobs=self._logprobs)
            yield self._of_item("content_part.done", part=part)
        yield self._of_item("output_item.done", item=item)
        self._text, self._logprobs = "", []

    def _response(self, status: str) -> Object:
        request = self.chat_request.request
        return {
            "id": self.id, "object": "response", "created_at": self.created, "status": status,
            "model": self.chat_request.model, "output": [*self._items], "error": None,
            "temperature": request.sampling.temperature, "top_p": request.sampling.top_p,
            "tools": [{"type": "function", "name": tool.name} for tool in request.tools],
            "tool_choice": request.tool_choice, "parallel_tool_calls": request.parallel_calls,
            "incomplete_details": None, "instructions": None, "metadata": {},
        }  # fmt: skip


def _usage(end: Finished) -> Object:
    """Return a response's token counts."""
    stats = end.stats
    return {
        "input_tokens": stats.prompt_tokens,
        "input_tokens_details": {"cached_tokens": stats.cached_tokens},
        "output_tokens": stats.generated_tokens,
        "output_tokens_details": {"reasoning_tokens": stats.thought_tokens},
        "total_tokens": stats.prompt_tokens + stats.generated_tokens,
    }
