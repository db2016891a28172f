"""Values that a language model takes and gives."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Logits = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SequenceTokens:
    """Tokens, and how many rows of logits to return at their end."""

    tokens: Sequence[int]
    rows: int = 1
