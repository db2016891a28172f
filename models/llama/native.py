"""The llama.cpp library itself: checked, quiet, and with a memory for what it complained about."""

import atexit
import ctypes
import os
import sys
from _thread import interrupt_main
from collections import deque
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import version as package_version
from pathlib import Path
from threading import Timer
from typing import Any

os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # else an abort starts a debugger on this process
# OpenMP's threads wait for each other by spinning, 300,000 times before they give way: beside two
# busy programs a token then took up to six times as long. This many cost nothing when all is quiet.
os.environ.setdefault("GOMP_SPINCOUNT", "10000")  # read when the library is loaded

import llama_cpp.llama_cpp as llama

from models.errors import ModelError

INTERRUPT_AGAIN_S = 0.02  # seconds after which a Ctrl-C is tried once more
WARN, ERROR = 3, 4  # ggml's levels, not those that llama-cpp-python assumes
BUILT_FOR = "0.3.36"
CONTEXT_DEFAULTS: dict[str, float] = {
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_outputs_max_per_seq": 1,
    "flash_attn_type": -1,
    "yarn_ext_factor": -1.0,
    "type_k": 1,
    "type_v": 1,
    "swa_full": True,
}
MODEL_DEFAULTS: dict[str, float] = {"n_gpu_layers": -1, "use_extra_bufts": True}

_log: deque[tuple[int, str]] = deque(maxlen=400)
_libc = ctypes.CDLL(None)


@llama.llama_log_callback  # type: ignore[untyped-decorator]  # a ctypes prototype
def _remember(level: int, text: bytes | None, _user_data: object) -> None:
    _log.append((level, (text or b"").decode("utf-8", "replace")))


def _interrupt_again(
    usual: Callable[["sys.UnraisableHookArgs"], object], lost: "sys.UnraisableHookArgs"
) -> None:
    """Try a Ctrl-C again that came in the middle of a callback: ctypes would forget it."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        Timer(INTERRUPT_AGAIN_S, interrupt_main).start()
    else:
        usual(lost)


@cache
def start() -> None:
    """Check that the bindings match the library, silence it and initialise it, once.

    Raises:
        ModelError: the installed llama-cpp-python lays out its structures differently.
    """
    sys.unraisablehook = partial(_interrupt_again, sys.unraisablehook)
    llama.llama_log_set(_remember, None)
    # Backends log while they are torn down, when there is no interpreter left to call back.
    atexit.register(lambda: llama.llama_log_set(_c_function("abs", llama.llama_log_callback), None))
    _check_layout()
    llama.llama_backend_init()


def _c_function(name: str, prototype: type) -> object:
    """Return a function of the C library where llama.cpp expects a callback: no lock, no Python."""
    callback: object = ctypes.cast(getattr(_libc, name), prototype)
    return callback


def strlen_as_abort_callback() -> object:
    """Return `strlen` as an abort callback: true as soon as the polled string is not empty."""
    return _c_function("strlen", llama.ggml_abort_callback)


def _check_layout() -> None:
    """Read defaults whose values are known: misplaced fields would show others."""
    context, model = llama.llama_context_default_params(), llama.llama_model_default_params()
    found = {name: getattr(context, name) for name in CONTEXT_DEFAULTS}
    found |= {name: getattr(model, name) for name in MODEL_DEFAULTS}
    if found != CONTEXT_DEFAULTS | MODEL_DEFAULTS:
        raise ModelError(
            f"specchat is made for llama-cpp-python {BUILT_FOR}, but the installed one lays out "
            f"its settings differently. Run: pip install llama-cpp-python=={BUILT_FOR}"
        )


def forget_complaints() -> None:
    """Start a new episode, so that a failure is explained by its own messages."""
    _log.clear()


def complaints() -> str:
    """Return what the library complained about since the last episode, worst last, one line."""
    lines = [text.strip() for level, text in _log if level in (WARN, ERROR) and text.strip()]
    return "; ".join(lines[-2:]) or "no reason given"


def version() -> str:
    """Return the version of llama.cpp that is compiled in."""
    text: bytes = llama.llama_version()
    return text.decode()


@cache
def build() -> str:
    """Return the size and the time of each file of the loaded library: no two builds share them."""
    files = sorted(Path(llama._lib._name).resolve().parent.glob("*"))
    stamps = ((file.name, file.stat()) for file in files if file.is_file())
    return " ".join(f"{name}:{stat.st_size}:{stat.st_mtime_ns}" for name, stat in stamps)


def features() -> str:
    """Return the CPU and backend features that are compiled in, as llama.cpp lists them."""
    text: bytes = llama.llama_print_system_info()
    return text.decode()


def has_amx() -> bool:
    """Say whether the matrix kernels for Intel's AMX are compiled in.

    Some compilers build them so that the first batch kills the process (llama.cpp issue 20824).
    They are an "extra buffer type", so weights loaded without those never reach them.
    """
    return "AMX_INT8 = 1" in features()


def offloads_to_gpu() -> bool:
    """Say whether this build can use a GPU."""
    return bool(llama.llama_supports_gpu_offload())


def devices() -> list[str]:
    """Return a line for each compute device that ggml sees."""
    count = function("ggml_backend_dev_count", ctypes.c_size_t)()
    get = function("ggml_backend_dev_get", ctypes.c_void_p, ctypes.c_size_t)
    describe = function("ggml_backend_dev_description", ctypes.c_char_p, ctypes.c_void_p)
    return [describe(get(i)).decode() for i in range(count)]


def function(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """Return a function of ggml that the bindings do not declare."""
    found: Any = getattr(llama._lib, name)
    found.restype, found.argtypes = result, arguments
    return found  # type: ignore[no-any-return]


def speed_key(path: Path, gpu_layers: int | None) -> str:
    """Return as text what speed depends on before a file is loaded: it, the library, the machine.

    Raises:
        OSError: there is no such file.
    """
    status = path.stat()
    library = f"{package_version('llama-cpp-python')} {version()} {features().strip()}"
    machine = ", ".join(devices())
    file = f"{status.st_size} {status.st_mtime_ns}"
    return f"{file} | {library} | {machine} | gpu_layers={gpu_layers}"
