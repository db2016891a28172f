"""The messages of both processes arrive unchanged, and anything else is refused."""

import asyncio
import inspect
import io
from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from itertools import cycle
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.events import Event, Failed, LaneEvent, Loading, TokenCount
from assistant.lab.bench.answers import Compared
from assistant.lab.protocol import LAB, LabEvent, LabJob
from assistant.process.wire import (
    CHAT,
    MAX_FRAME_BYTES,
    Codec,
    Envelope,
    Garbled,
    TooLong,
    frame,
    read,
    receive,
)
from assistant.request import (
    SOURCES,
    Cancel,
    CountTokens,
    EngineArgs,
    Message,
    NextStep,
    Request,
    Sampling,
    Tool,
    UpdateRequest,
)

COMMANDS, SAID = LAB.commands, LAB.messages


def encoded(codec: Codec, content: object) -> bytes:
    return codec.encode(Envelope(7, content))


def crossed(codec: Codec, content: object) -> Any:
    """Return what arrives of something."""
    envelope = codec.decode(encoded(codec, content))
    assert envelope == Envelope(7, envelope.content)
    return envelope.content


NUMBERS = st.integers(0, 2**31)
TEXT = st.text(st.characters(codec="utf-8"))
BASIC: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    bool: st.booleans(),
    type(None): st.none(),
    Path: TEXT.filter(lambda text: "\0" not in text).map(Path),
    Sampling: st.builds(Sampling, st.floats(0, 100), st.integers(0, 99), min_p=st.floats(0, 1)),
}
EVENTS = get_args(Event)
CHECKED = {"lookahead", "max_tokens", "seed", "alternatives", "thinking_budget"}
"""Fields that a request checks."""


@cache
def values(hint: Any) -> st.SearchStrategy[Any]:
    """Everything that an annotation allows."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in BASIC:
        return BASIC[hint]
    if is_dataclass(hint) or hint in EVENTS:
        hints = get_type_hints(hint)
        parts = {name: values(hints[name]) for name in inspect.signature(hint).parameters}
        if hint is Request:
            parts |= {name: st.integers(1, 2**31) for name in CHECKED}
            # What is wrong with tools is refused; names of their own are letters of their own.
            letters = st.lists(st.sampled_from("abc"), max_size=3, unique=True)
            parts["tools"] = letters.map(lambda names: tuple(Tool(n, "", "{}") for n in names))
            parts["tool_choice"] = st.sampled_from(("auto", "none"))
            parts["sources"] = st.lists(st.sampled_from(SOURCES), max_size=3).map(tuple)
        return st.builds(cast(Any, hint), **parts)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of(*map(values, arguments))
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    assert origin is Mapping, hint
    return st.dictionaries(*map(values, arguments), max_size=3)


@pytest.mark.parametrize(
    ("codec", "kind"),
    [
        *((SAID, kind) for kind in get_args(LabEvent)),
        *((COMMANDS, kind) for kind in get_args(LabJob | UpdateRequest | NextStep | Cancel)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
@settings(max_examples=30)
@given(data=st.data())
def test_any_message_arrives_as_it_was_sent(codec: Any, kind: Any, data: st.DataObject) -> None:
    sent = Envelope(data.draw(NUMBERS), data.draw(values(kind)), data.draw(st.booleans()))
    assert codec.decode(codec.encode(sent)) == sent


def test_a_path_that_is_not_utf8_arrives_whole_and_such_a_text_is_well_formed() -> None:
    setup = EngineArgs(Path("/models/\udcff.gguf"))
    assert crossed(COMMANDS, setup) == setup
    request = Request((Message("user", "a\udcffb"),))
    arrived = crossed(COMMANDS, request)
    assert arrived == Request((Message("user", "a\ufffdb"),))
    lap = LaneEvent(1, 0.5, Failed("\udcff", "Bug"))
    assert crossed(SAID, lap) == LaneEvent(1, 0.5, Failed("\ufffd", "Bug"))


def test_numbers_of_numpy_are_numbers() -> None:
    loading = Loading("target", "a", np.float32(0.5))  # type: ignore[arg-type]
    assert crossed(SAID, loading) == Loading("target", "a", 0.5)
    counted = TokenCount(np.int64(3))  # type: ignore[arg-type]
    assert crossed(SAID, counted) == TokenCount(3)


def test_a_value_that_is_not_plain_or_of_another_protocol_is_refused() -> None:
    with pytest.raises(TypeError):
        encoded(CHAT.messages, Compared(()))
    with pytest.raises(TypeError):
        encoded(SAID, Failed(object(), "x"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [
        b"\x94\x07\xa3abc\x80\xc2",  # no such class
        b"\x94\x07\xa7Decoded\x80\xc2",  # no field
        b"\x91" * 100_000,
        b"\x94\x07\xa6Failed\x82\xa7message\xa1\xff\xa4kind\xa1x\xc2",  # not UTF-8
        encoded(COMMANDS, CountTokens("b")),  # a command is no event
        encoded(SAID, Failed("a", "b")) + b"\0",
        b"\x94\x07\xa9LaneEvent\x83\xa4lane\x01\xa5clock\x02\xa5event\x92\xa5Ready\x80\xc2",
        b"\x94\x07\xa9RaceReady\x81\xa5lanes\x91\x92\xa4Pong\x80\xc2",
    ],
)
def test_garbage_is_called_garbage(data: bytes) -> None:
    with pytest.raises(Garbled):
        SAID.decode(data)


@settings(max_examples=100)
@given(st.lists(st.binary(max_size=50)), st.lists(st.integers(1, 9), min_size=1))
async def test_messages_survive_any_cut_of_a_pipe(messages: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(frame, messages))
    pipe, start = asyncio.StreamReader(), 0
    for cut in cycle(cuts):
        if start >= len(stream):
            break
        pipe.feed_data(stream[start : start + cut])
        start += cut
    pipe.feed_eof()
    assert [await receive(pipe) for _ in messages] == messages
    with pytest.raises(EOFError):
        await receive(pipe)
    file = io.BytesIO(stream)
    assert [read(file) for _ in messages] == messages
    assert read(file) is None


async def test_a_message_that_is_too_long_is_refused_at_both_ends() -> None:
    with pytest.raises(TooLong):
        frame(bytes(MAX_FRAME_BYTES + 1))
    with pytest.raises(Garbled):
        read(io.BytesIO(b"\xff\xff\xff\xff"))
    pipe = asyncio.StreamReader()
    pipe.feed_data(b"\xff\xff\xff\xff")
    with pytest.raises(Garbled):
        await receive(pipe)
