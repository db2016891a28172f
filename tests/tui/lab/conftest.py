"""What the tests of the laboratories share."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from models.native.quantize import quantize
from models.slim import flattening, workshop

MADE: dict[tuple[object, ...], bytes] = {}


@pytest.fixture(autouse=True)
def quantised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requantise a file once: many tests make the same of the same, each in another process."""
    for module in (flattening, workshop):
        monkeypatch.setattr(module, "quantize", remembering)


def remembering(
    source: Path,
    place: Path,
    kind: str | None,
    dropped: Sequence[int] = (),
    kinds: Mapping[str, int] | None = None,
) -> None:
    digest = hashlib.sha256(source.read_bytes()).digest()
    key = (digest, kind, tuple(dropped), str(kinds))
    if key not in MADE:
        quantize(source, place, kind, dropped, kinds)
        MADE[key] = place.read_bytes()
    place.write_bytes(MADE[key])
