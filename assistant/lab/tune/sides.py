"""The two models of a tuning, and what is measured of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assistant.request import Setup
from models.llama.model import MAX_ROWS


@dataclass(frozen=True, slots=True)
class Side:
    """A model, and the widths that matter in its role."""

    role: Literal["target", "draft"]
    path: Path
    max_rows: int
    tried: Sequence[int]
    """Widths at which settings compete."""
    measured: Sequence[int]
    """Widths of the curve."""
    weight: float
    """The effort of its tokens, beside the target's."""


def sides(setup: Setup) -> list[Side]:
    """Return the target, and the draft if there is one."""
    widths = (*range(1, 18), 20, 24, 28, 32)
    target = Side("target", setup.target, MAX_ROWS, (1, 2, 4, 8), widths, 1.0)
    if setup.draft is None:
        return [target]
    weight = setup.draft.stat().st_size / setup.target.stat().st_size
    return [target, Side("draft", setup.draft, 1, (1, 2), (1, 2, 3, 4, 8, 16, 64), weight)]
