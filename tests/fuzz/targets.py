"""The fuzzed readers: each takes any bytes, and may refuse them only with its own errors."""

import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from assistant.events import Failed, LaneEvent, Loading
from assistant.lab.protocol import LAB
from assistant.process import wire
from assistant.process.wire import MAX_FRAME_BYTES, Envelope, Garbled, frame
from assistant.prompt.template import CHATML, ChatTemplate
from assistant.request import CountTokens, EngineArgs, Message, Request
from assistant.store.exports import json_lines, read_json_lines
from assistant.store.store import Store
from models import gguf
from models.errors import ModelError, StorageError
from models.memory import rollback_slots
from models.slim.writing import read_layout
from tests import tiny
from tests.assistant.store.conversations import talk
from tests.stored import ask

LONGEST = 400  # characters of a sentence about a file, its path aside
WEIGHTS = 1 << 20  # bytes after a header, which are never written
_SCRATCH = Path(mkdtemp(prefix="specchat-fuzz-"))


@dataclass(frozen=True)
class Target:
    """Something that reads what strangers write."""

    run: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...]
    seeds: Callable[[], Iterator[bytes]]
    words: tuple[bytes, ...]  # that chance alone would hardly find


def _header(data: bytes) -> object:
    path = _SCRATCH / "model.gguf"
    path.write_bytes(data)
    if len(data) > 24:  # room for the weights, as a hole in the file
        os.truncate(path, len(data) + WEIGHTS)
    with suppress(ModelError):
        gguf.read_vocabulary(path)
    try:
        header = gguf.read(path)
    except ModelError as error:
        plain_sentence(str(error), path)
        raise
    return header.unusable_reason, header.scale, header.vocabulary, rollback_slots(header, 32)


def plain_sentence(message: str, path: Path) -> None:
    """Check what is said of a file: it names the file, and a hostile one cannot lengthen it."""
    assert str(path) in message or path.name in message, message
    assert len(message.replace(str(path), "")) < LONGEST, message
    assert message.isprintable(), message
    assert not re.search(r"GGML_|what\(\)|\w\.(cpp|h):\d", message), message
    assert message.endswith("."), message


def _headers() -> Iterator[bytes]:
    for kind in tiny.KINDS:
        path = tiny.write(_SCRATCH / "model.gguf", kind)
        yield path.read_bytes()[: read_layout(path).data]


def _imported(data: bytes) -> object:
    with closing(Store(None)) as store:
        for whole in read_json_lines(data.split(b"\n")):
            list(json_lines(whole))
            store.path(store.import_conversations([whole])[0].number)
    return None


def _exports() -> Iterator[bytes]:
    with closing(Store(None)) as store:
        number, records = talk(store, "Why is the sky blue?", "é\x1b[2J")
        ask(store, number, records[0].id, "another branch")
        yield "\n".join(json_lines(store.whole(number))).encode()
    yield b'{"specchat":1}\n{"id":1,"role":"user","content":"a","created":1,"state":"complete"}'


def _framed(data: bytes) -> object:
    pipe = io.BytesIO(data)
    while (message := wire.read(pipe)) is not None:
        for codec in (LAB.messages, LAB.commands):
            with suppress(Garbled):
                codec.decode(message)
    return len(data) > MAX_FRAME_BYTES


def _messages() -> Iterator[bytes]:
    request = Request((Message("user", "Why?", (1, 2)),), stop_strings=("a",), seed=1)
    for command in (EngineArgs(Path("a.gguf")), request, CountTokens("b")):
        yield frame(LAB.commands.encode(Envelope(1, command)))
    for part in (Loading("target", "a", 0.5), LaneEvent(1, 0.5, Failed("a", "Bug")), None):
        yield frame(LAB.messages.encode(Envelope(1, part, True)))


def _rendered(data: bytes) -> object:
    """A template is a program: it may fail in any way, and there is a prompt anyway."""
    asked = [Message("system", "Be brief."), Message("user", "Why?"), Message("assistant", "So.")]
    asked.append(Message("user", "And now?"))
    template = ChatTemplate(data.decode("utf-8", "replace"), CHATML)
    text = template.render(asked)
    if not all(part in text for part in ("Be brief.", "And now?")):
        raise AssertionError("what was said is lost")
    return text if "a built-in one is used" in (template.warning or "") else None


def _templates() -> Iterator[bytes]:
    yield CHATML.encode()
    yield b"{%- set n = namespace(x='') %}{% for m in messages[::-1] %}{{ m['content'] ~ n.x }}"
    yield b"{% macro a(b) %}{{ b|tojson }}{% endmacro %}{{ a(messages) }}{{ strftime_now('%d') }}"


TARGETS = {
    "template": Target(
        _rendered, (), _templates, (b"{{", b"}}", b"{%", b"%}", b"messages", b"|join")
    ),
    "header": Target(
        _header, (ModelError,), _headers, (b"llama", b"\xff" * 8, b"\0" * 8, b"tokenizer.ggml.")
    ),
    "import": Target(
        _imported, (StorageError,), _exports, (b"null", b"1e999", b'"parent":1', b"\\ud800", b"[[")
    ),
    "codec": Target(
        _framed, (Garbled,), _messages, (b"\x91", b"\xdf\xff\xff\xff\xff", b"\xc1", b"\xa6Failed")
    ),
}
