"""Tell whose export a file is, and read it."""

import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO

import msgspec

from assistant.store import jsonl
from assistant.store.imports import chatgpt, llama_ui
from assistant.store.values import FullConversation
from models.errors import StorageError

MAX_BYTES = 1 << 30
"""Bytes of a file, or of what is unpacked of an archive."""
_UNKNOWN = (
    "This is not an export of specchat (JSON lines), ChatGPT (conversations.json or its archive) "
    "or "
    "llama.cpp's web UI (JSON, JSON lines or their archive)."
)
_EXPORTS = ("conversations", "conversation")  # how the names of files with conversations begin
_Reader = Callable[[bytes], tuple[FullConversation, ...]]


class _Probe(msgspec.Struct):
    """What tells the formats from each other."""

    specchat: msgspec.Raw = msgspec.Raw()
    type: msgspec.Raw = msgspec.Raw()
    conv: msgspec.Raw = msgspec.Raw()
    mapping: msgspec.Raw = msgspec.Raw()
    conversations: msgspec.Raw = msgspec.Raw()


def read(data: bytes) -> tuple[FullConversation, ...]:
    """Return the conversations of a file; all of it is looked at before any is returned.

    Raises:
        StorageError: it is not such a file, or something in it is invalid.
    """
    if len(data) > MAX_BYTES:
        raise StorageError(f"This file has more than {MAX_BYTES >> 30} GiB, too large to import.")
    parts = _unpacked(data) if data.startswith(b"PK\x03\x04") else [("", data)]
    return tuple(whole for name, part in parts for whole in _read(name, part))


def _read(name: str, data: bytes) -> tuple[FullConversation, ...]:
    data = data.removeprefix(b"\xef\xbb\xbf").strip()
    if not data:
        return ()
    try:
        return _reader(data)(data)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        where = f"{name} in this archive" if name else "This file"
        raise StorageError(f"{where} cannot be read: {error}. Nothing was imported.") from error


def _reader(data: bytes) -> _Reader:
    """Return what reads a file that begins like this one."""
    if data.startswith(b"["):
        probes = msgspec.json.decode(data, type=list[_Probe])
        probe = probes[0] if probes else _Probe(mapping=msgspec.Raw(b"{}"))
    else:
        probe = _first(data)
    if bytes(probe.specchat):
        return lambda text: tuple(jsonl.read(text.splitlines()))
    if bytes(probe.mapping):
        return chatgpt.read
    if bytes(probe.conversations).startswith(b"["):
        return chatgpt.read_wrapped
    if bytes(probe.conv):
        return llama_ui.read
    if bytes(probe.type) == b'"session"':
        return llama_ui.read_lines
    raise StorageError(_UNKNOWN)


def _first(data: bytes) -> _Probe:
    """Return what the first line holds, or all of it: a single object may take many lines."""
    for text in (data.partition(b"\n")[0], data):
        try:
            return msgspec.json.decode(text, type=_Probe)
        except msgspec.ValidationError:
            break
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    raise StorageError(_UNKNOWN)


def _unpacked(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive that hold conversations."""
    room = MAX_BYTES
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            for entry in archive.infolist():
                name = entry.filename.rpartition("/")[2]
                if name.endswith(".jsonl") or (
                    name.startswith(_EXPORTS) and name.endswith(".json")
                ):
                    with archive.open(entry) as file:
                        part = file.read(room + 1)  # its header may lie about its size
                    room -= len(part)
                    if room < 0:
                        why = f"unpacked, it has more than {MAX_BYTES >> 30} GiB"
                        raise StorageError(f"This archive cannot be imported: {why}.")
                    yield entry.filename, part
    # NotImplementedError, RuntimeError: a method of packing or a password that Python has not
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise StorageError(
            f"This archive cannot be read: {error}. Nothing was imported."
        ) from error
