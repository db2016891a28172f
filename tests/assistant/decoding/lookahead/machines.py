"""Simulated machines, texts and draft sources, with which a `Controller` decodes."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.loops import Rejected, Round, Sampled
from assistant.decoding.row import Row, one_hot
from assistant.decoding.sources.draft import Offer, Proposal, Rows, Run
from assistant.events import Origin
from tests.exact.exact_rows import row_of

FLAT = {1: 1.0, 2: 1.05, 4: 1.1, 8: 1.2, 16: 1.4, 32: 1.8}  # likes batches
STEEP = {1: 1.0, 2: 1.9, 4: 3.6, 8: 7.0, 16: 13.5, 32: 26.0}
STAIRS = {1: 1.0, 2: 1.5, 3: 1.95, 4: 1.9, 5: 2.4, 8: 4.0, 9: 4.2, 16: 4.9, 17: 5.9, 32: 8.4}
STEP = {1: 0.1, 8: 0.3, 512: 12.0}


def costs(verify: dict[int, float], draft: float = 1.0) -> Costs:
    """Return a machine's costs; `draft` scales those of the draft model."""
    return Costs(verify, {tokens: draft * seconds for tokens, seconds in STEP.items()})


@dataclass
class Text:
    """How likely proposals for a text are to be accepted, round by round.

    `copied` gives the acceptance of the run that is offered in a round, None for no run;
    `modelled` that of each row of the model, None where there is no model.
    """

    copied: Callable[[int], float | None] = lambda i: None
    modelled: Callable[[int], float | None] = lambda i: None
    bucket: int = 5
    margin: int = 9
    """The target's margin for tokens for which nothing was proposed."""
    rng: random.Random = field(default_factory=lambda: random.Random(1))

    def offers(self, i: int, budget: int) -> list[Offer]:
        """Return what is on offer in round `i`."""
        offers: list[Offer] = []
        if self.copied(i) is not None and budget:
            offers.append(Run("suffix", (0,) * budget, (self.bucket,) * budget))
        if self.modelled(i) is not None and budget:
            offers.append(Rows("model", 1))
        return offers

    def acceptance(self, source: str, i: int) -> float:
        """Return the true probability that a proposal is accepted."""
        return (self.copied if source == "suffix" else self.modelled)(i) or 0.0


@dataclass
class Outcome:
    """The result of decoding."""

    seconds: float = 0.0
    ars_s: float = 0.0
    proposed: list[int] = field(default_factory=list)
    reads: int = 0

    @property
    def speedup(self) -> float:
        """How many times as fast as ArS it was."""
        return self.ars_s / self.seconds


def decode(
    controller: Controller, text: Text, real: Costs, rounds: int = 2000, repeats: bool = False
) -> Outcome:
    """Decode with a controller on a machine whose true costs are `real`.

    If the target `repeats`, it cannot roll back rejected tokens: it goes back to before the batch,
    and the accepted tokens are evaluated again.
    """
    outcome, again = Outcome(), 0
    if repeats:
        controller.begin(repeats=True)
    for i in range(rounds):
        plan = controller.plan(31, recomputed=again)
        proposals, draft_s = list[Proposal](), 0.0
        while plan.budget > 0 and (offer := plan.next(text.offers(i, plan.budget))):
            if isinstance(offer, Run):
                proposals += [Proposal(0, one_hot(0), "suffix", e) for e in offer.buckets]
                continue
            draft_s += real.draft(1)
            if not plan.include(offer, text.bucket):
                break
            proposals.append(Proposal(0, one_hot(0), "model", text.bucket))
        round_ = judged(proposals, [text.acceptance(p.source, i) for p in proposals], text, i)
        noise = text.rng.uniform(0.97, 1.03)
        width = len(proposals) + 1
        seconds = (real.verify(width + again) + draft_s) * noise
        controller.observe(round_, plan, seconds, draft_s * noise, recomputed=again)
        again = again + len(round_.tokens) if repeats and round_.rejected else 0
        outcome.seconds += seconds
        outcome.ars_s += len(round_.tokens) * real.verify(1)
        outcome.proposed.append(len(proposals))
        outcome.reads += len(plan.reads)
    return outcome


def judged(proposals: Sequence[Proposal], chances: Sequence[float], text: Text, i: int) -> Round:
    """Accept each proposal with its chance, as the target's rows have it."""
    tokens: list[Sampled] = []
    for proposal, chance in zip(proposals, chances, strict=True):
        uniform = text.rng.random()
        origin = Origin.DRAFT if uniform < chance else Origin.RESIDUAL
        row = replace(coin(chance), margin=text.bucket)
        tokens.append(Sampled(0, origin, row, proposal, uniform))
        if origin is Origin.RESIDUAL:
            break
    else:
        row = replace(coin(text.copied(i) or 0.0), margin=text.margin)
        tokens.append(Sampled(1, Origin.TARGET, row))
    behind = proposals[len(tokens) - 1 :] if tokens[-1].proposal else ()
    return Round(tuple(tokens), tuple(Rejected(proposal, None, None) for proposal in behind))


def coin(chance: float) -> Row:
    """Return a target's row in which token 0 has a probability."""
    row = row_of([chance, 1 - chance])
    return Row(row.ids, row.probs.astype(float))
