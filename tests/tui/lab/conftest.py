"""What the tests of the laboratories share."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from models.native.quantize import quantize
from models.slim import flattening, workshop

MADE: dict[tuple[bytes, str], bytes] = {}


@pytest.fixture(autouse=True)
def quantised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requantise a file once: many tests make the same of the same, each in another process."""
    for module in (flattening, workshop):
        monkeypatch.setattr(module, "quantize", remembering)


def remembering(source: Path, place: Path, *how: Any, **more: Any) -> None:
    key = hashlib.sha256(source.read_bytes()).digest(), f"{how} {more}"
    if key not in MADE:
        quantize(source, place, *how, **more)
        MADE[key] = place.read_bytes()
    place.write_bytes(MADE[key])
