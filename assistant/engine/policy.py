"""Decides what a round proposes: by the user's choice, or by the controller."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assistant.decoding.lookahead.controller import SHORT, Controller
from assistant.decoding.lookahead.forecast import Reason
from assistant.decoding.lookahead.plans import FixedPlan, RoundPlan
from assistant.decoding.sources.model import PrefillOption
from assistant.engine.control import Control

FIXED_LOOKAHEAD = 3  # where nothing was measured: verify width 4


@dataclass(frozen=True, slots=True)
class Policy:
    """Makes the plan of each round.

    Without a controller, costs on this machine are unknown: mode auto decodes by ArS, and SpS
    proposes `FIXED_LOOKAHEAD` tokens.
    """

    control: Control
    controller: Controller | None

    @property
    def is_free(self) -> bool:
        """Whether the controller may decide to propose nothing."""
        return self.control.mode == "auto" and self.control.lookahead is None

    def plan(
        self,
        budget: int,
        recomputed: int = 0,
        repeats: bool = False,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> RoundPlan:
        """Return the plan of the next round, which may propose `budget` tokens.

        `recomputed`, `repeats` and `clock` are as in `ThroughputPlan`.
        """
        mode, lookahead = self.control.mode, self.control.lookahead  # both may change meanwhile
        if mode == "ars":
            return FixedPlan(0, Reason.ARS)
        if lookahead is not None:
            return FixedPlan(min(lookahead, budget), Reason.CHOSEN)
        if self.controller:
            return self.controller.plan(budget, int(mode == "sps"), recomputed, repeats, clock)
        if mode == "sps":
            return FixedPlan(min(FIXED_LOOKAHEAD, budget), Reason.SPS)
        return FixedPlan(0, Reason.UNMEASURED)

    def next_prefill(self, options: Sequence[PrefillOption], more: int) -> PrefillOption | None:
        """Return the prefill of the draft model to run now; None for none.

        The first of the `options` keeps its window; `more` tokens may still be decoded.
        """
        if self.control.mode == "ars":
            return None
        if not self.is_free:
            return (
                options[0] if options[0].pending > SHORT and self.control.lookahead != 0 else None
            )
        return self.controller.reading(options, more) if self.controller else None
