"""The tool calls of an answer, parsed as the model writes them."""

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace

from assistant.calling.arguments import JsonArguments, Schema, closed
from assistant.calling.formats import BARE, BARE_BETWEEN, BARE_STARTS, CallFormat, read_json
from assistant.calling.syntaxes import GemmaArguments, XmlArguments
from assistant.events import CallDelta
from assistant.request import Request, ToolCall
from assistant.streamed_text import split_at_mark

Arguments = JsonArguments | XmlArguments | GemmaArguments
"""Streaming parsers of the arguments of one call."""
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


def call_reader_of(call_format: CallFormat, request: Request) -> "CallReader | None":
    """Return the reader of the calls in an answer to a request; None if it must have none."""
    if not request.tools or request.tool_choice == "none":
        return None
    return CallReader(
        replace(call_format, bare=call_format.bare and not request.constraint),
        {tool.name: closed(read_json(tool.parameters)) for tool in request.tools},
        [call.id for message in request.messages[-1:] for call in message.tool_calls],
    )


class CallReader:
    """Find and parse the calls in an answer's text; all text after the first call is calls.

    `schemas` are those of the tools' arguments, by the tools' names; the first calls have the
    `ids`, if they were given some.
    """

    def __init__(
        self, call_format: CallFormat, schemas: Mapping[str, Schema], ids: Iterable[str] = ()
    ) -> None:
        self.tool_calls: tuple[ToolCall, ...] = ()
        """The complete calls."""
        self.is_open = False
        """Whether the first call has begun."""
        self._format, self._schemas, self._ids = call_format, schemas, iter(ids)
        self._buffered = ""  # text that may turn out to begin a call
        self._may_be_bare = call_format.bare
        self._opens = call_format.opens
        opens, between = re.escape(call_format.opens), re.escape(call_format.between)
        self._head = re.compile(f"{opens}(.*?){between}")
        self._raw = ""  # the text since the last complete call
        self._unparsed = ""  # the end of that, which is not parsed yet
        self._call = ToolCall("", "")  # the last one, as far as it is parsed
        self._arguments: Arguments | None = None  # parses its arguments; None between calls
        self._deltas: list[CallDelta] = []

    @property
    def cut(self) -> str:
        """The text of a call that is not complete."""
        start = self._raw.find(self._opens) if self.tool_calls else 0
        return self._raw[start:] if start >= 0 else ""

    def read(self, text: str) -> tuple[str, str]:
        """Add text; return the part before the calls, and the part that belongs to calls.

        Text that may begin a call is buffered.
        """
        if self.is_open:
            self._parse(text)
            return "", text
        before, call_text, self._buffered = self._divide(self._buffered + text)
        if call_text:
            self.is_open = True
            self._parse(call_text)
        return before, call_text

    def flush(self) -> str:
        """Return the text that is buffered: no more text comes that could make it a call."""
        text, self._buffered = self._buffered, ""
        self._may_be_bare = self._may_be_bare and not text
        return text

    def drain(self) -> tuple[CallDelta, ...]:
        """Return the additions to calls since the last time this was called."""
        deltas, self._deltas = tuple(self._deltas), []
        return deltas

    def _divide(self, text: str) -> tuple[str, str, str]:
        """Divide an answer into text, calls, and an end that may still become either."""
        if self._may_be_bare:
            bare = self._is_bare(text)
            if bare is None:
                return "", "", text
            self._may_be_bare = False
            if bare:
                self._opens, self._head = "{", re.compile(f"{BARE}(.*?){BARE_BETWEEN}(?={{)")
                return "", text, ""
        before, trigger, rest = split_at_mark(text, [self._format.trigger])
        return (before, trigger + rest, "") if trigger else (before, "", rest)

    def _is_bare(self, text: str) -> bool | None:
        """Return whether an answer begins with a call in bare JSON; None while it is uncertain."""
        dense = "".join(text.split())
        starts = [f'{start}{name}"' for start in BARE_STARTS for name in self._schemas]
        if any(dense.startswith(start) for start in starts):
            return re.match(BARE, text) is not None
        return None if any(start.startswith(dense) for start in starts) else False

    def _parse(self, text: str) -> None:
        self._raw += text
        self._unparsed += text
        while arguments := self._arguments or self._open():
            more, rest = arguments.read(self._unparsed)
            self._unparsed = rest or ""
            if more:
                self._call = replace(self._call, arguments=self._call.arguments + more)
                self._deltas.append(CallDelta(len(self.tool_calls), "", "", more))
            if rest is None:
                return
            self.tool_calls += (self._call,)
            self._arguments, self._raw = None, rest

    def _open(self) -> Arguments | None:
        """Open the next call if its name is complete; return the parser of its arguments."""
        head = self._head.search(self._unparsed)
        if head is None:
            return None
        self._unparsed = self._unparsed[head.end() :]
        new_id = "call_" + "".join(secrets.choice(_LETTERS) for _ in range(9))
        self._call = ToolCall(head[1], "", next(self._ids, "") or new_id)
        self._deltas.append(CallDelta(len(self.tool_calls), self._call.id, head[1], ""))
        match self._format.syntax:
            case "xml":
                self._arguments = XmlArguments(self._schemas.get(head[1], {}))
            case "gemma":
                self._arguments = GemmaArguments()
            case "json":
                self._arguments = JsonArguments()
        return self._arguments
