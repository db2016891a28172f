"""Which settings are used for a file from now on, as they were found best on this machine."""

from pathlib import Path

from assistant.engine.machine_cache import Records
from assistant.request import Tuning
from models.native import loaded


def found(path: Path, gpu_layers: int | None, folder: Path | None) -> Tuning:
    """Return what was found best for a file on this machine, or the usual."""
    if folder is None or not path.exists():
        return Tuning()
    return _records(folder).get(loaded.engine().speed_key(path, gpu_layers)) or Tuning()


def keep(path: Path, gpu_layers: int | None, folder: Path, tuning: Tuning) -> None:
    """Use these settings for a file from now on.

    Raises:
        OSError: the folder cannot be written.
    """
    _records(folder).put(loaded.engine().speed_key(path, gpu_layers), tuning)


def _records(folder: Path) -> Records[Tuning]:
    return Records(folder / "tuning.json", Tuning)
