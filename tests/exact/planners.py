"""Planners: ways of deciding how much each round proposes."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.plans import FixedPlan, ThroughputPlan
from assistant.decoding.loops import Round
from assistant.decoding.sources.draft import Offer, Plan, Rows, Run
from tests.assistant.decoding.lookahead.machines import Text, decode

SURE_AFTER = 6  # rounds


class Planner(Protocol):
    """Whatever decides over rounds."""

    def plan(self) -> Plan:
        """Return the plan of the next round."""

    def observe(self, round_: Round) -> None:
        """Take in what came of it."""


Planners = Callable[[], Planner]


class FixedPlanner:
    """Propose as many tokens each time."""

    def __init__(self, lookahead: int) -> None:
        self._lookahead = lookahead

    def plan(self) -> Plan:
        return FixedPlan(self._lookahead)

    def observe(self, round_: Round) -> None:
        """Learn nothing."""


class Whims:
    """A plan with random decisions that are a function of all that it has seen."""

    def __init__(self, budget: int, *occasion: Any) -> None:
        self.budget = budget
        self._occasion = list(occasion)

    def next(self, offers: Sequence[Offer]) -> Offer | None:
        """Take any offer, as much of it as it likes, or none."""
        random = self._random(offers)
        offer = random.choice([*offers, *offers, None])
        if isinstance(offer, Run):
            offer = offer.first(random.randint(1, len(offer.tokens)))
        self.budget -= len(offer.tokens) if isinstance(offer, Run) else 1
        return offer

    def include(self, rows: Rows, bucket: int) -> bool:
        """Draw from most rows."""
        return self._random(bucket).random() < 0.8

    def _random(self, news: Any) -> Random:
        self._occasion.append(news)
        return Random(repr(self._occasion))


class WhimsicalPlanner:
    """Decide anything by everything that is known, all past rounds included."""

    def __init__(self, budget: int, seed: int) -> None:
        self._budget = budget
        self._past: list[object] = [seed]

    def plan(self) -> Plan:
        return Whims(self._budget, *self._past)

    def observe(self, round_: Round) -> None:
        """Remember the round."""
        ids = tuple(token.id for token in round_.tokens)
        self._past.append((round_.proposed, round_.accepted, ids))


class ControllerPlanner:
    """Decide as mode auto does, on a simulated machine: its clock is the same on every path."""

    VERIFY = {1: 1.0, 2: 1.4, 3: 1.8}  # noqa: RUF012 - where it depends on the odds what pays
    DRAFT = {1: 0.2, 8: 0.6, 512: 24.0}  # noqa: RUF012 - nobody writes to it

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._real = Costs(self.VERIFY, self.DRAFT)
        self._controller = Controller(Costs(self.VERIFY, self.DRAFT))
        self._plan: ThroughputPlan | None = None
        # In the midst of an answer: at its beginning too little is staked for such a machine.
        decode(self._controller, Text(), self._real, rounds=SURE_AFTER)

    def plan(self) -> Plan:
        self._plan = self._controller.plan(self._budget)
        return self._plan

    def observe(self, round_: Round) -> None:
        """Have the controller learn from a round, at the machine's prices."""
        assert self._plan is not None
        draft_s = sum(map(self._real.draft, self._plan.reads))
        seconds = self._real.verify(round_.proposed + 1) + draft_s
        self._controller.observe(round_, self._plan, seconds, draft_s)
