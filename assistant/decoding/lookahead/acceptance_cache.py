"""What draft sources were worth with these models so far, kept for the next load.

A draft that is bad would otherwise be tried in every answer, and again after every start.
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from assistant.decoding.lookahead.records import Records

FURTHEST = 8.0  # log odds; a file that says more than that is damaged


def remembered(target: Path, draft: Path | None, folder: Path) -> dict[str, float]:
    """Return how much better or worse than usual sources did, in log odds, by name."""
    known = _records(folder).get(_key(target, draft)) or {}
    return {name: value for name, value in known.items() if abs(value) < FURTHEST}


def remember(lasting: Mapping[str, float], target: Path, draft: Path | None, folder: Path) -> None:
    """Keep what answers have shown. Where it cannot be kept, nothing is said: it is a cache."""
    with suppress(OSError):
        _records(folder).put(_key(target, draft), dict(lasting))


def _records(folder: Path) -> Records[dict[str, float]]:
    return Records(folder / "acceptance.json", dict[str, float])


def _key(target: Path, draft: Path | None) -> str:
    """Return both files by name and size; `ascii`, as a name need not be UTF-8."""
    files = [path for path in (target, draft) if path]
    return " | ".join(f"{path.name!a} {path.stat().st_size}" for path in files)
