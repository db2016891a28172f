"""The library that this process has loaded; `python -m models.native.loaded ENGINE` tries one.

All engines define the same C symbols, so a process can load only one.
"""

import sys
from importlib import import_module
from typing import cast

from models import child_process
from models.engines import ENGINES, PACKAGES, EngineName, default_engine, installed, missing_message
from models.errors import ModelError, OtherEngine
from models.native.engine import EngineLibrary

_loaded: tuple[EngineName, EngineLibrary] | None = None


def in_use() -> EngineName | None:
    """Return the engine that this process has loaded, if any."""
    return _loaded[0] if _loaded else None


def use(name: EngineName) -> EngineLibrary:
    """Load an engine into this process; an `OtherEngine` says that another one is loaded."""
    global _loaded
    if _loaded and _loaded[0] != name:
        raise OtherEngine(f"This process runs {ENGINES[_loaded[0]]} and cannot also load {name}.")
    if not _loaded:
        try:
            library: EngineLibrary = import_module(f"models.{name}.library").engine()
        except (ImportError, OSError, RuntimeError) as error:
            if name not in installed():
                raise ModelError(missing_message(name)) from error
            how = f"Reinstall it with: {PACKAGES[name].reinstall}"
            raise ModelError(f"{ENGINES[name]} cannot be loaded ({error}). {how}") from error
        library.start()
        _loaded = name, library
    return _loaded[1]


def engine() -> EngineLibrary:
    """Return the library that this process has loaded; the first one by default."""
    return use(in_use() or default_engine())


def load_error(name: EngineName) -> str | None:
    """Try to load an engine in another process; return why that fails, or None."""
    _, complaint = child_process.run(__name__, name)
    # A library built for another processor ends the process silently.
    return "It does not run on this processor." if complaint == "" else complaint


if __name__ == "__main__":
    use(cast(EngineName, sys.argv[1]))
