"""What a round proposes: the user's choice, or what pays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assistant.decoding.lookahead.controller import SHORT, Controller
from assistant.decoding.lookahead.plans import FixedPlan, RoundPlan
from assistant.decoding.sources.model import PrefillOption
from assistant.events import Reason
from assistant.request import Mode, Sampling
from models.progress import CancelFlag


class Control:
    """Change options of the answer in progress, from another thread.

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
    """Make the plan of each round.

    Without a controller nothing is known of this machine: then mode auto decodes by ArS, and SpS
    proposes `FIXED_LOOKAHEAD` tokens.
    """

    control: Control
    controller: Controller | None

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
    ) -> RoundPlan:
        """Return the plan of the next round, which may propose `room` tokens.

        `again`, `repeats` and `clock` are those of `ThroughputPlan`.
        """
        mode, lookahead = self.control.mode, self.control.lookahead  # both may change meanwhile
        if mode == "ars":
            return FixedPlan(0, Reason.ARS)
        if lookahead is not None:
            return FixedPlan(min(lookahead, room), Reason.CHOSEN)
        if self.controller:
            return self.controller.plan(room, int(mode == "sps"), again, repeats, clock)
        if mode == "sps":
            return FixedPlan(min(FIXED_LOOKAHEAD, room), Reason.SPS)
        return FixedPlan(0, Reason.UNMEASURED)

    def reading(self, options: Sequence[PrefillOption], more: int) -> PrefillOption | None:
        """Return what the draft model is to read now, so that it can propose; None for nothing.

        The first of the `options` is to go on; `more` is how many tokens the answer may still have.
        """
        if self.control.mode == "ars":
            return None
        if not self.is_free:
            return options[0] if options[0].unread > SHORT and self.control.lookahead != 0 else None
        return self.controller.reading(options, more) if self.controller else None
