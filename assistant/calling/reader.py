"""The calls of an answer: told from its text, token by token, and put together again."""

import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from assistant.calling.arguments import Arguments, JsonArguments, Schema
from assistant.calling.elements import XmlArguments
from assistant.calling.formats import BARE, BARE_BETWEEN, BARE_STARTS, CallFormat
from assistant.calling.gemma import GemmaArguments
from assistant.chat.answer_text import StopStrings
from assistant.events import Token
from assistant.request import ToolCall
from assistant.tokens import said

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


def new_id() -> str:
    """Return an id for a call."""
    return "call_" + "".join(secrets.choice(_LETTERS) for _ in range(9))


class CallParts:
    """Say which tokens of an answer belong to calls.

    The text of these becomes the name of each call and its arguments in JSON, whatever the format:
    `get_weather{"city": "Paris"}`. What stands around them is markers. After a call there is no
    text any more.

    Args:
        form: how the model writes calls.
        schemas: of the arguments, by the names of the tools.
    """

    def __init__(self, form: CallFormat, schemas: Mapping[str, Schema]) -> None:
        self._form, self._schemas = form, schemas
        self._first: list[Token] | None = [] if form.bare else None  # may be bare JSON
        self._text = StopStrings([form.trigger])
        self._held = 0  # characters there
        self._head: re.Pattern[str] | None = None  # of calls, when they have begun
        self._opens = form.opens
        self._rest = self._raw = ""  # not read yet; since the last whole call
        self._arguments: Arguments | None = None
        self._any = False  # whole calls

    @property
    def cut(self) -> str:
        """What the model has written of a call that is not whole."""
        begun = self._raw.find(self._opens) if self._any else 0
        return self._raw[begun:] if begun >= 0 else ""

    def pass_on(self, token: Token) -> list[Token]:
        """Take a token of the answer; return those whose part is known by now.

        A token that ends the text and begins a call, with text of both, becomes two.
        """
        if self._head:
            return [self._told(token)]
        if self._first is None:
            return self._after_text(token)
        self._first.append(token)
        bare = self._is_bare("".join(held.text for held in self._first))
        if bare is None:
            return []
        first, self._first = self._first, None
        if bare:
            self._head, self._opens = re.compile(f"{BARE}(.*?){BARE_BETWEEN}(?={{)"), "{"
            return [self._told(each) for each in first]
        return [told for each in first for told in self.pass_on(each)]

    def flush(self) -> list[Token]:
        """Return what is held back: no call comes of it any more."""
        first, self._first = self._first or [], None
        return [*(told for each in first for told in self.pass_on(each)), *self._text.flush()]

    def _is_bare(self, text: str) -> bool | None:
        """Say whether an answer begins with a call in bare JSON; None while that is not certain."""
        dense, begins = "".join(text.split()), BARE_STARTS
        starts = [f'{start}{name}"' for start in begins for name in self._schemas]
        if any(dense.startswith(start) for start in starts):
            return re.match(BARE, text) is not None
        return None if any(start.startswith(dense) for start in starts) else False

    def _after_text(self, token: Token) -> list[Token]:
        self._held += len(token.text)
        released, begun = self._text.pass_on(token)
        self._held -= len("".join(each.text for each in released))
        if not begun:
            return released
        form = self._form
        self._head = re.compile(f"{re.escape(form.opens)}(.*?){re.escape(form.between)}")
        first, *others = self._text.flush()
        whole = len("".join(each.text for each in (first, *others)))
        first = replace(first, text=first.text[whole - self._held :])
        return [*released, *map(self._told, (first, *others))]

    def _told(self, token: Token) -> Token:
        text = self._read(token.text)
        return replace(token, text=text or token.text, part="call" if text else "marker")

    def _read(self, text: str) -> str:
        """Read on; return what this adds to the names and the arguments."""
        self._rest += text
        self._raw += text
        added = ""
        while True:
            if self._arguments is None:
                head = self._head.search(self._rest) if self._head else None
                if head is None:
                    return added
                self._rest = self._rest[head.end() :]
                self._arguments = self._reader(head[1])
                added += head[1]
            more, rest = self._arguments.read(self._rest)
            self._rest = rest or ""
            added += more
            if rest is None:
                return added
            self._arguments, self._any, self._raw = None, True, rest

    def _reader(self, name: str) -> Arguments:
        if self._form.syntax == "xml":
            return XmlArguments(self._schemas.get(name, {}))
        return GemmaArguments() if self._form.syntax == "gemma" else JsonArguments()


class CallDelta(NamedTuple):
    """What some tokens add to a call; its id and its name come first, and once."""

    place: int  # among the calls, from 0
    id: str
    name: str
    arguments: str  # more of the JSON


class CallReader:
    """Put the calls of one answer together from its tokens, whose parts are known."""

    def __init__(self) -> None:
        self.calls: tuple[ToolCall, ...] = ()
        """Those that are whole."""
        self._name = self._id = self._text = ""
        self._arguments: JsonArguments | None = None

    def read(self, tokens: Iterable[Token]) -> list[CallDelta]:
        """Take tokens, of any parts; return what they add to calls."""
        text, deltas = said(tokens, "call"), list[CallDelta]()
        while text:
            begins = ""
            if self._arguments is None:
                name, brace, text = text.partition("{")
                self._name += name
                if not brace:
                    break
                text, self._text = brace + text, ""
                self._arguments, self._id = JsonArguments(), new_id()
                begins = self._id
            more, rest = self._arguments.read(text)
            self._text += more
            place = len(self.calls)
            deltas.append(CallDelta(place, begins, self._name if begins else "", more))
            if rest is not None:
                self.calls += (ToolCall(self._name, self._text, self._id),)
                self._arguments, self._name = None, ""
            text = rest or ""
        return deltas
