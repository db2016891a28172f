"""What evaluations cost on this machine, measured with the loaded pair."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

from models.base import Model

WIDTHS = (1, 2, 4, 8)  # kernels work in blocks of four rows, so the steps lie here
PATIENCE = 2.0  # seconds; a large target is measured at fewer widths


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of the target's batches by their width, and of one draft step."""

    verify: Mapping[int, float]
    draft: float

    def round(self, k: int) -> float:
        """Return the seconds of a round that proposes `k` tokens."""
        return k * self.draft + self.verify[k + 1]


def measure(target: Model, draft: Model) -> Costs:
    """Time each width twice and keep the faster: noise only ever adds."""
    started = perf_counter()
    verify: dict[int, float] = {}
    for width in WIDTHS:
        if len(verify) > 1 and perf_counter() - started > PATIENCE:
            break
        verify[width] = min(_seconds(target, width) for _ in range(2))
    return Costs(verify, min(_seconds(draft, 1) for _ in range(4)))


def _seconds(model: Model, width: int) -> float:
    """Time one evaluation of `width` tokens behind a short context."""
    context = [0] * 16
    model.logits(context, rows=0)
    started = perf_counter()
    model.logits(context + [0] * width, rows=min(width, model.max_rows))
    return perf_counter() - started
