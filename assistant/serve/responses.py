"""OpenAI's responses: their bodies as those of chat completions, their events and objects."""

import secrets
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from assistant.events import Finished, Token
from assistant.request import Request
from assistant.serve.api_error import ApiError, refuse, shorten
from assistant.serve.completion_objects import REASONS, AnswerDeltas, Completion, Object, extras
from assistant.serve.completion_schema import Adapted, CompletionRequest, convert_fields
from assistant.serve.dialect import Fields, Notices

_STATEFUL = ("previous_response_id", "conversation", "prompt", "background")

# Fields of a chat completion, and what they are in a response.
_NAMES = {"messages": "input", "response_format": "text.format",
          "reasoning_effort": "reasoning.effort"}  # fmt: skip


class _Body(msgspec.Struct):
    """The fields that have other names in a chat completion."""

    input: str | list[Fields]
    instructions: str | None = None
    max_output_tokens: int | None = None
    text: Fields | None = None
    reasoning: Fields | None = None
    tools: list[Fields] | None = None
    tool_choice: str | Fields | None = None
    include: list[str] | None = None
    store: Any = None  # nothing is stored


def from_response(fields: Fields, notices: Notices, defaults: Request) -> Adapted:
    """Make a chat completion of the body of a response that needs nothing stored before."""
    for name in _STATEFUL:
        if fields.pop(name, None):
            refuse(f"Nothing is stored here; send all of the input instead of {name}.", name)
    body = convert_fields(fields, _Body, notices)
    text, reasoning, tools = body.text or {}, body.reasoning or {}, body.tools or []
    for kind in {str(tool.get("type")) for tool in tools} - {"function"}:
        notices.add(f"Tools of the type {shorten(kind)} are not offered to the model", "tools")
    others, own = text | reasoning | fields, {*_Body.__struct_fields__, "format", "effort"}
    chat = {
        **{name: value for name, value in others.items() if name not in own},
        "messages": _messages(body, notices),
        "max_tokens": body.max_output_tokens,
        "reasoning_effort": reasoning.get("effort"),
        "response_format": _nest(text.get("format"), "json_schema"),
        "tools": [_nest(tool, "function") for tool in tools if tool.get("type") == "function"],
        "tool_choice": _nest(body.tool_choice, "function"),
        "logprobs": "message.output_text.logprobs" in (body.include or ()),
    }
    return Adapted(chat, defaults, names=_NAMES)


def _nest(given: str | Fields | None, name: str) -> object:
    """Return an object as chat completions have it: all but its type in one of their own."""
    if not isinstance(given, dict):
        return given
    inner = {key: value for key, value in given.items() if key != "type"}
    return {"type": given.get("type"), **({name: inner} if inner else {})}


def _messages(body: _Body, notices: Notices) -> list[Fields]:
    """Return the messages of the input; an answer and its calls are one."""
    items = [{"role": "user", "content": body.input}] if isinstance(body.input, str) else body.input
    system = {"role": "system", "content": body.instructions}
    messages: list[Fields] = [system] if body.instructions else []
    for item in items:
        message = _message(item, notices)
        if "tool_calls" in message and messages and messages[-1]["role"] == "assistant":
            messages[-1].setdefault("tool_calls", []).extend(message["tool_calls"])
        elif message:
            messages.append(message)
    return messages


def _message(item: Fields, notices: Notices) -> Fields:
    """Return an item as a message; {} for an item that is no part of a message."""
    match item.get("type") or "message":
        case "message":
            return {"role": item.get("role"), "content": item.get("content")}
        case "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            call = {"id": item.get("call_id"), "function": function}
            return {"role": "assistant", "tool_calls": [call]}
        case "function_call_output":
            result = {"tool_call_id": item.get("call_id"), "content": item.get("output")}
            return {"role": "tool", **result}
        case "item_reference":
            refuse("Nothing is stored here; send the item instead of an item_reference.", "input")
        case kind if kind != "reasoning":
            notices.add(f"Items of the type {shorten(str(kind))} are not read", "input")
    return {}


# The prefix of the ids of items, the name of events that add to them, and the fields of new ones.
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
        texts = {"reasoning_content": answer.thought, "content": answer.text}
        deltas = [{**texts, "tool_calls": answer.tool_calls}]
        *_, last = [*self.more(deltas, answer.tokens), *self.finish(answer, end)]
        return dict(last["response"])

    def begin(self) -> Iterator[Object]:
        """Yield the events of a response that begins."""
        for kind in ("created", "in_progress"):
            yield self._event(kind, response=self._response("in_progress"))

    def more(self, deltas: Iterable[Object], tokens: Iterable[Token] = ()) -> Iterator[Object]:
        """Yield the events of deltas."""
        rows = (self.logprobs(tokens) or {}).get("content", [])
        for delta in deltas:
            if thought := delta.get("reasoning_content"):
                yield from self._add("reasoning", thought)
            if (text := delta.get("content", "")) or rows:
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
        own = {"incomplete_details": cut, "usage": _usage(end), "specchat": extras(end)}
        yield self._event(status, response={**self._response(status), **own})

    def failed(self, api_error: ApiError) -> Object:
        """Return the event of an error."""
        error = api_error.body["error"]
        return {**error, "error": error, "type": "error", "sequence_number": self._events}

    def _event(self, kind: str, **more: object) -> Object:
        self._events += 1
        return {"type": f"response.{kind}", "sequence_number": self._events - 1, **more}

    def _item_event(self, kind: str, **more: object) -> Object:
        address = {"item_id": self._items[-1]["id"], "output_index": len(self._items) - 1}
        return self._event(kind, **address, content_index=0, **more)

    def _add(
        self, kind: str, text: str, rows: Iterable[Object] = (), **new: str
    ) -> Iterator[Object]:
        """Yield the events of a text for the open item, or for a new one of another kind."""
        prefix, name, fields = _ITEMS[kind]
        if new or not self._items or self._items[-1]["type"] != kind:
            yield from self._close("completed")
            id_ = f"{prefix}_{secrets.token_hex(12)}"
            self._items.append({"id": id_, "type": kind, "status": "in_progress", **fields, **new})
            yield self._item_event("output_item.added", item={**self._items[-1]})
            if kind != "function_call":
                yield self._item_event("content_part.added", part=self._part(name))
        self._text += text
        self._logprobs += rows
        yield self._item_event(f"{name}.delta", delta=text, logprobs=[*rows])

    def _part(self, name: str) -> Object:
        return {"type": name, "annotations": [], "text": self._text, "logprobs": self._logprobs}

    def _close(self, status: str) -> Iterator[Object]:
        """Yield the end of the open item, if there is one."""
        if not self._items:
            return
        item = self._items[-1]
        _, name, _ = _ITEMS[item["type"]]
        item["status"] = status
        if item["type"] == "function_call":
            item["arguments"] = self._text
            yield self._item_event(f"{name}.done", name=item["name"], arguments=self._text)
        else:
            part = self._part(name)
            item["content"] = [part]
            yield self._item_event(f"{name}.done", text=self._text, logprobs=self._logprobs)
            yield self._item_event("content_part.done", part=part)
        yield self._item_event("output_item.done", item=item)
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
    stats = end.stats
    return {
        "input_tokens": stats.prompt_tokens,
        "input_tokens_details": {"cached_tokens": stats.cached_tokens},
        "output_tokens": stats.generated_tokens,
        "output_tokens_details": {"reasoning_tokens": stats.thought_tokens},
        "total_tokens": stats.prompt_tokens + stats.generated_tokens,
    }
