"""Where `config.toml` is, and reading it."""

from pathlib import Path

from models.errors import UsageError
from models.files.places import config_dir
from tui.settings.config_reader import Config, Reader

NAME = "config.toml"
_LARGEST = 1 << 20


def config_path() -> Path:
    """Return where `config.toml` is, or would be."""
    return config_dir() / NAME


def read(path: Path | None = None) -> Config:
    """Read the file; one that is not there says nothing.

    Raises:
        UsageError: it cannot be read, is no TOML, or has a value that is not allowed.
    """
    path = path or config_path()
    try:
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{path} is larger than {_LARGEST >> 20} MB; it cannot be meant.")
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return Config(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    return understand(decode(data, path), path)


def decode(data: bytes, path: Path) -> str:
    """Return the text of a file, with the line ends that TOML counts."""
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: this is not UTF-8. Save the file as UTF-8.") from error


def understand(text: str, path: Path) -> Config:
    """Check everything that a text says, and return it."""
    return Reader(text, path).read()
