"""The log of a native library: kept off the terminal, its last errors remembered."""

import atexit
import ctypes
from collections import deque
from typing import Any

WARN, ERROR = 3, 4  # ggml's levels, not those that llama-cpp-python assumes

_log_callback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_abort_callback = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
_log: deque[tuple[int, str]] = deque(maxlen=400)
_libc = ctypes.CDLL(None)


@_log_callback  # type: ignore[untyped-decorator]  # a ctypes prototype
def _remember(level: int, text: bytes | None, _user_data: object) -> None:
    _log.append((level, (text or b"").decode("utf-8", "replace")))


def capture(c: Any) -> None:
    """Send the log of a library here instead of to the terminal; `c` has its C functions."""
    c.llama_log_set(_remember, None)
    # Backends log while they are torn down, when the interpreter is already gone.
    atexit.register(lambda: c.llama_log_set(_c_function("abs", _log_callback), None))


def clear() -> None:
    """Drop all messages, so that the next failure is explained by its own."""
    _log.clear()


def last_errors() -> str:
    """Return the last two warnings or errors since `clear`, on one line."""
    lines = [text.strip() for level, text in _log if level in (WARN, ERROR) and text.strip()]
    return "; ".join(lines[-2:]) or "no reason given"


def _c_function(name: str, prototype: type) -> object:
    """Return a function of the C library to use as a callback: no lock, no Python."""
    callback: object = ctypes.cast(getattr(_libc, name), prototype)
    return callback


STRLEN = _c_function("strlen", _abort_callback)  # true once the polled string is not empty
