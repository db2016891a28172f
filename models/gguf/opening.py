"""Open a model file, or say what else it is or what is wrong with it."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from models.errors import ModelError, ModelMissing
from models.gguf.values import Malformed, Stream

_PICKLES = (
    *(b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"),
    *(b"(lp0\n", b"(dp0\n", b"ccopy_reg\n", b"c__builtin__\n", b"]q\0", b"}q\0"),
)
_KINDS: tuple[tuple[bytes | tuple[bytes, ...], str], ...] = (
    (b"version https://git-lfs", "a git-lfs pointer, not the file it points to; run: git lfs pull"),
    (b"PK\x03\x04", "a zip archive (a PyTorch checkpoint?), and specchat reads GGUF only"),
    (_PICKLES, "a Python pickle, and specchat reads GGUF only"),
    ((b"\x7fELF", b"MZ"), "a program; if it is a llamafile, look for a GGUF of the model"),
    (b"\x1f\x8b", "compressed with gzip; unpack it first"),
    ((b"GGML", b"lmgg", b"tjgg"), "in the old GGML format; look for a GGUF of the model"),
    (b"FUGG", "a big-endian GGUF, which this machine cannot run"),
)


@contextmanager
def reading(path: Path) -> Iterator[Stream]:
    """Return what follows the magic number of a GGUF file; a `ModelError` says what is wrong."""
    with _open(path) as file:
        try:
            yield Stream(file, 4)
        except Malformed as error:
            raise ModelError(f"{path} is damaged: {error}. Fetch it again.") from error
        except OSError as error:
            raise ModelError(f"{path} cannot be read: {error.strerror}.") from error


def _open(path: Path) -> BinaryIO:
    try:  # without waiting for somebody to write into a pipe
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelMissing(f"There is no file {path}.") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{str(path)!r} cannot be read: {error}.") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ModelError(f"{path} is not a file; give the path of a .gguf file.")
        start = os.pread(descriptor, 512, 0)
        if start[:4] != b"GGUF":
            raise ModelError(f"{path} is {_kind(start)}.")
    except BaseException:  # nobody else could close what was opened
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _kind(start: bytes) -> str:
    if not start:
        return "empty; fetch it again"
    for magic, kind in _KINDS:
        if start.startswith(magic):
            return kind
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype", b"<html", b"<head", b"<?xml")):
        return "a web page, not a model; the download went wrong, fetch it again"
    if start[8:9] == b"{":
        return "a safetensors file, and specchat reads GGUF only"
    if text.startswith(b"{"):
        return "a JSON file, not a model; the download may have gone wrong"
    return "not a GGUF file; its first bytes are not 'GGUF'"
