"""The engines that run GGUF files, and the one that this process has loaded.

All of them define the same C symbols, so a process that has loaded one loads no other.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Literal, cast

from models.errors import ModelError, OtherEngine, UsageError
from models.native.library import Library

EngineName = Literal["llama", "ik"]
ENGINES: dict[EngineName, str] = {"llama": "llama.cpp", "ik": "ik_llama.cpp"}
"""What people call them, by the names that options have for them; the first is always there."""
_PACKAGES: dict[EngineName, tuple[str, str]] = {
    "llama": ("llama_cpp", "pip install llama-cpp-python==0.3.36"),
    "ik": ("ik_llama_cpp", "pip install 'specchat[ik]'"),
}

_loaded: tuple[EngineName, Library] | None = None


def installed() -> list[EngineName]:
    """Return the engines that are installed; nothing of them is loaded."""
    return [name for name, (package, _) in _PACKAGES.items() if find_spec(package)]


def in_use() -> EngineName | None:
    """Return the engine that this process has loaded, if it has."""
    return _loaded[0] if _loaded else None


def use(name: EngineName) -> Library:
    """Load an engine into this process.

    Raises:
        OtherEngine: this process has loaded another one.
        UsageError: there is no engine of this name.
        ModelError: it is not installed, or does not fit this version of specchat.
    """
    global _loaded
    if name not in ENGINES:
        raise UsageError(f"an engine must be one of {', '.join(ENGINES)}: {name}")
    if _loaded and _loaded[0] != name:
        raise OtherEngine(f"This process runs {ENGINES[_loaded[0]]} and cannot load {name}, too.")
    if not _loaded:
        try:
            found = cast(Library, import_module(f"models.{name}.library"))
        except (ImportError, OSError, RuntimeError) as error:
            raise ModelError(
                f"{ENGINES[name]} cannot be loaded ({error}). Install it with: {_PACKAGES[name][1]}"
            ) from error
        found.start()
        _loaded = name, found
    return _loaded[1]


def library() -> Library:
    """Return the library that this process has loaded; llama.cpp's, if it was asked for none."""
    return use(in_use() or "llama")
