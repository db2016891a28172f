"""A tiny model that thinks: its template opens a thought, which a budget ends."""

from pathlib import Path

from tests import tiny

TEMPLATE = tiny.TEMPLATE.replace("assistant\n' }}", "assistant\n<think>\n' }}")


def write(path: Path, **options: object) -> Path:
    """Write a model that never ends its thought, nor its answer, by itself."""
    return tiny.write(path, **{"template": TEMPLATE, "stops": False, **options})  # type: ignore[arg-type]
