"""What a round proposes: the user's choice, or what pays."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace

from assistant.decoding.lookahead.controller import SHORT, Controller
from assistant.decoding.lookahead.throughput_plan import ThroughputPlan
from assistant.decoding.sources.draft import Fixed, Plan
from assistant.decoding.sources.model import PrefillOption
from assistant.events import Reason
from assistant.request import Mode, Sampling
from models.progress import CancelFlag


class Control:
    """Steer an answer under option, from another thread.

    A mode, lookahead or sampling takes effect at the next round, a cancel within the evaluation.
    """

    def __init__(self, mode: Mode = "auto", lookahead: int | None = None) -> None:
        self.cancel = CancelFlag()
        self.mode: Mode = mode
        self.lookahead = lookahead
        self.sampling: Sampling | None = None
        """None: as the request has it."""


FIXED_LOOKAHEAD = 3  # where nothing was measured: verify width 4


@dataclass(frozen=True, slots=True)
class Policy:
    """Make the plan of each round, and say why it is what it is.

    Without a controller nothing is known of this machine: then mode auto decodes by ArS, and SpS
    proposes `FIXED_LOOKAHEAD` tokens.
    """

    control: Control
    controller: Controller | None

    def now(self) -> "Policy":
        """Return the policy by what the user wants at this moment.

        They may change it at any time. All of one evaluation is to be decided by one policy.
        """
        return replace(self, control=copy(self.control))

    @property
    def is_free(self) -> bool:
        """Whether the program may choose to propose nothing."""
        return self.control.mode == "auto" and self.control.lookahead is None

    def plan(
        self,
        room: int,
        again: int = 0,
        repeats: bool = False,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> Plan:
        """Return the plan of the next round, which may propose `room` tokens.

        `again`, `repeats` and `clock` are those of `ThroughputPlan`.
        """
        control, controller = self.control, self.controller
        if control.mode == "ars":
            return Fixed(0)
        if control.lookahead is not None:
            return Fixed(min(control.lookahead, room))
        if controller is None:
            return Fixed(min(FIXED_LOOKAHEAD, room) if control.mode == "sps" else 0)
        least = min(1, room) if control.mode == "sps" else 0
        return controller.plan(room, least, again, repeats, clock)

    def reason(self, plan: Plan) -> Reason:
        """Return why a plan that has been carried out proposed what it did."""
        if self.control.mode == "ars":
            return Reason.ARS
        if self.control.lookahead is not None:
            return Reason.CHOSEN
        if self.control.mode == "sps":
            return Reason.SPS
        if not isinstance(plan, ThroughputPlan):
            return Reason.UNMEASURED
        if plan.pause and not plan.taken:
            return plan.pause
        return Reason.LIKELY if plan.taken else Reason.UNLIKELY

    def reading(self, options: Sequence[PrefillOption], more: int) -> PrefillOption | None:
        """Return what the draft model is to read now, so that it can propose; None for nothing.

        The first of the `options` is to go on; `more` is how many tokens the answer may still have.
        """
        if self.control.mode == "ars":
            return None
        if not self.is_free:
            return options[0] if options[0].unread > SHORT and self.control.lookahead != 0 else None
        return self.controller.reading(options, more) if self.controller else None
