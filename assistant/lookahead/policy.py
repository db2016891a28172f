"""Who decides what a round proposes: the person, or what pays."""

from copy import copy
from dataclasses import dataclass, replace

from assistant.control import Control
from assistant.drafting.draft import Plan
from assistant.events import Reason
from assistant.lookahead.controller import SHORT, Controller
from assistant.lookahead.fixed import Fixed
from assistant.lookahead.weighing import ALONE, Beside, Weighing

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
        """Return the policy by what the person wants at this moment.

        They may change it at any time. All of one evaluation is to be decided by one policy.
        """
        return replace(self, control=copy(self.control))

    @property
    def is_free(self) -> bool:
        """Whether the program may choose to propose nothing."""
        return self.control.mode == "auto" and self.control.lookahead is None

    def plan(self, room: int, beside: Beside = ALONE) -> Plan:
        """Return the plan of the next round, which may propose `room` tokens."""
        control, controller = self.control, self.controller
        if control.mode == "ars":
            return Fixed(0)
        if control.lookahead is not None:
            return Fixed(min(control.lookahead, room))
        if controller is None:
            return Fixed(min(FIXED_LOOKAHEAD, room) if control.mode == "sps" else 0)
        return controller.plan(room, min(1, room) if control.mode == "sps" else 0, beside)

    def reason(self, plan: Plan) -> Reason:
        """Return why a plan that has been carried out proposed what it did."""
        if self.control.mode == "ars":
            return Reason.ARS
        if self.control.lookahead is not None:
            return Reason.CHOSEN
        if self.control.mode == "sps":
            return Reason.SPS
        if not isinstance(plan, Weighing):
            return Reason.UNMEASURED
        if plan.is_pause:
            return Reason.PAUSE
        return Reason.LIKELY if plan.taken else Reason.UNLIKELY

    def reads(self, unread: int, more: int) -> bool:
        """Say whether the draft model is to read `unread` tokens now, so that it can propose.

        `more` is how many tokens the answer may still have.
        """
        if self.control.mode == "ars" or unread <= SHORT:
            return False
        if not self.is_free:
            return self.control.lookahead != 0
        return self.controller is not None and self.controller.is_worth_reading(unread, more)
