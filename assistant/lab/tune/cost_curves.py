"""The cost curves of a pair at two depths, measured with care."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

from assistant.decoding.lookahead.cost_measurement import SHALLOW, Times, varied
from assistant.lab.progress_meter import Meter, effort
from assistant.lab.tune.opening import Opener
from assistant.lab.tune.sides import Side
from assistant.tuning import Tuning
from models.llama.model import LlamaModel

DEEP = 1024
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class MeasuredCurve:
    """A model at one depth or two, and its fastest evaluations so far."""

    side: Side
    models: Mapping[int, LlamaModel]
    """By depth: one for each, so that no context has to be read twice."""
    seconds: dict[int, dict[int, float]] = field(default_factory=dict)
    """By depth and width."""

    def measure(self, meter: Meter) -> None:
        """Go once through all widths."""
        meter.weight = self.side.weight
        for width in self.side.measured:
            for depth, model in self.models.items():
                fastest = self.seconds.setdefault(depth, {})
                took = meter.time(model, width, depth)
                fastest[width] = min(took, fastest.get(width, took))

    @property
    def times(self) -> Times:
        """What it takes at the shallow depth."""
        return Times(self.seconds[SHALLOW])


def planned(side: Side) -> float:
    """Return the effort of opening and measuring one."""
    return (ROUNDS * 2 * sum(map(effort, side.measured)) + DEEP) * side.weight


def open_curve(
    side: Side, tuning: Tuning, opener: Opener, meter: Meter, opened: ExitStack
) -> MeasuredCurve:
    """Open a model twice, and have it read its contexts; one made for short texts has only one."""
    models = {}
    for depth in (SHALLOW, DEEP):
        model = opened.enter_context(opener.open(side.path, tuning, side.max_rows))
        if depth + max(side.measured) <= model.n_ctx:
            model.logits(varied(depth, model.n_vocab), rows=0)
            models[depth] = model
    meter.skip(DEEP * side.weight)
    return MeasuredCurve(side, models)
