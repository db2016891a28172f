"""The folders of specchat's files and of models on this machine."""

import os
import sys
from pathlib import Path

from platformdirs import user_cache_path, user_config_path, user_data_path

_APP, _HOME = "specchat", "SPECCHAT_HOME"


def config_dir() -> Path:
    """Return where `config.toml` is.

    On macOS that is ~/.config as on Linux, where terminal users look for it, unless there
    is a file in ~/Library/Application Support.
    """
    if home := _path(_HOME):
        return home
    usual = user_config_path(_APP, appauthor=False)
    if sys.platform != "darwin" or (usual / "config.toml").is_file():
        return usual
    return user_folder("XDG_CONFIG_HOME", ".config") / _APP


def data_dir() -> Path:
    """Return where `chats.db` is."""
    return _path(_HOME) or user_data_path(_APP, appauthor=False)


def cache_dir() -> Path:
    """Return the folder of files that can be made again."""
    home = _path(_HOME)
    return home / "cache" if home else user_cache_path(_APP, appauthor=False)


def models_dir() -> Path:
    """Return the folder of model files that belong to no hub repository.

    They are large and every home can use them, so SPECCHAT_HOME does not move them.
    """
    return _path("SPECCHAT_MODELS") or user_cache_path(_APP, appauthor=False) / "models"


def hub_cache() -> Path:
    """Return the Hugging Face cache that every program on this machine shares."""
    home = _path("HF_HOME") or user_folder("XDG_CACHE_HOME", ".cache") / "huggingface"
    return _path("HF_HUB_CACHE") or _path("HUGGINGFACE_HUB_CACHE") or home / "hub"


def user_folder(variable: str, usual: str) -> Path:
    """Return the folder that a variable names, or else the usual one in the user's home."""
    return _path(variable) or Path.home() / usual


def expand_user(name: str) -> Path:
    """Return the path of a name, in which ~ is a user's home; that of nobody stays as it is."""
    return Path(os.path.expanduser(name))


def collapse_user(path: Path) -> str:
    """Return the name of a path, with `~` for the user's home."""
    home = Path.home()
    return str(Path("~") / path.relative_to(home) if path.is_relative_to(home) else path)


def _path(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return expand_user(os.path.expandvars(value)).absolute() if value else None
