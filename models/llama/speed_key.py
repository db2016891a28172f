"""What the speed of a model depends on, as text: a key for what was measured with it."""

from importlib.metadata import version
from pathlib import Path

from models.llama import native


def of_file(path: Path, gpu_layers: int | None) -> str:
    """Return all that matters before a file is loaded: its identity, the library, the machine.

    Raises:
        OSError: there is no such file.
    """
    status = path.stat()
    library = f"{version('llama-cpp-python')} {native.version()} {native.features().strip()}"
    machine = ", ".join(native.devices())
    file = f"{status.st_size} {status.st_mtime_ns}"
    return f"{file} | {library} | {machine} | gpu_layers={gpu_layers}"
