"""Tests of samples: the same law, the expected acceptance, and the power of the tests."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from assistant.decoding.loops import Rejected, Round, Sampled
from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule, carried
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.draft import Proposal
from assistant.lab.protocol import FALSE_ALARM, Check
from assistant.lab.prove.enumeration import MISTAKES
from assistant.lab.prove.exact_tests import alike, as_expected, holm, roughly_alike
from assistant.lab.prove.samples import SAMPLE_TOKENS, AcceptanceTrial, Counts, Sample, Sampler

MISTAKEN = {what: rule for what, rule, _ in MISTAKES[:2]}
"""Deliberate mistakes, to see how surely samples would detect them."""
SIMULATIONS = 400


def of_blocks(round_: Round) -> Iterator[AcceptanceTrial]:
    """Yield the trials of the block rule: each proposal, whether those before it are kept or not.

    After a beginning of some share, another token is kept with it with probability
    sum of min(share target, draft); see `assistant.decoding.rules.block`.
    """
    share = 1.0
    for place, (target, proposal) in enumerate(_judged(round_)):
        scaled = Row(target.ids, target.probs * share)
        yield AcceptanceTrial(place, scaled.overlap(proposal.row), place < round_.accepted)
        share = carried(share, target, proposal)


def one_by_one(
    round_: Round, chance: Callable[[Row, Row], float] = Row.overlap
) -> Iterator[AcceptanceTrial]:
    """Yield the trials of the token rule: each proposal after those that were accepted.

    Those of the coupled rule have another `chance`: both rows draw with the same numbers.
    """
    for place, (target, proposal) in enumerate(_judged(round_)):
        yield AcceptanceTrial(place, chance(target, proposal.row), place < round_.accepted)
        if place == round_.accepted:
            return


def _judged(round_: Round) -> Iterator[tuple[Row, Proposal]]:
    """Yield the proposals at whose place a row of the target was read."""
    judged: list[Sampled | Rejected] = [*round_.tokens[: round_.accepted], *round_.rejected]
    for each in judged:
        if each.target_row is None or each.proposal is None:
            return
        yield each.target_row, each.proposal


def coincidence(target: Row, draft: Row) -> float:
    """Return how likely the coupled rule draws the same token from two rows.

    Token j is drawn from both if it is first in both races, which it wins with
    probability 1 / (sum over i of max(target(i) / target(j), draft(i) / draft(j))). The target's
    term is the larger one for the tokens that it prefers, in comparison, more than j.
    """
    ids = np.union1d(target.ids, draft.ids)
    ours, theirs = target.probs_of(ids), draft.probs_of(ids)
    with np.errstate(divide="ignore"):
        preference = ours / theirs
    order = np.argsort(preference)
    ours, theirs = ours[order], theirs[order]
    above = ours.sum() - np.cumsum(ours)  # what the target gives to those it prefers more
    below = np.cumsum(theirs)
    both = (ours > 0) & (theirs > 0)
    return float((1 / (above[both] / ours[both] + below[both] / theirs[both])).sum())


@dataclass(slots=True)
class Comparison:
    """All samples of all prompts, and the tests of them."""

    checks: list[Check] = field(default_factory=list)
    controls: dict[str, list[tuple[Counts, Counts]]] = field(
        default_factory=lambda: {what: [] for what in MISTAKEN}
    )

    def add(self, name: str, sampler: Sampler) -> None:
        """Sample after a prompt, and test what came."""
        ars = sampler.ars()
        for rule, rules, trials in (
            ("token", sampler.streams(TokenRule), one_by_one),
            ("block", sampler.streams(BlockRule), of_blocks),
            ("coupled", sampler.twins(), partial(one_by_one, chance=coincidence)),
        ):
            sps = sampler.sps(rules, trials)
            for length in (1, SAMPLE_TOKENS):
                self._compare(f"{name} {rule} rule", ars, sps, length, sampler.rng())
            self._expect(f"{name} {rule} rule", sps)
        for what, kind in MISTAKEN.items():
            mistaken = sampler.sps(sampler.streams(kind))
            self.controls[what].append((ars.firsts(1), mistaken.firsts(1)))

    def _compare(
        self, what: str, ars: Sample, sps: Sample, length: int, rng: np.random.Generator
    ) -> None:
        ours, theirs = ars.firsts(length), sps.firsts(length)
        p_value = alike(ours, theirs, rng)
        tokens = "the first token" if length == 1 else f"the first {length} tokens"
        figures = {
            "samples": ours.total() + theirs.total(),
            "outcomes": len(ours.keys() | theirs.keys()),
        }
        self.checks.append(Check("sampling", f"{what}: {tokens}", None, figures, p_value))

    def _expect(self, what: str, sample: Sample) -> None:
        for place, trials in sorted(sample.trials.items()):
            chances = [chance for chance, _ in trials]
            kept = sum(kept for _, kept in trials)
            z, p_value = as_expected(chances, kept)
            figures = {
                "z": z,
                "expected": sum(chances) / len(trials),
                "measured": kept / len(trials),
                "trials": len(trials),
            }
            name = f"{what}: acceptance of proposal {place + 1}"
            self.checks.append(Check("sampling", name, None, figures, p_value))

    def results(self) -> Iterator[Check]:
        """Yield the tests, corrected for being many, and what they would have found."""
        corrected = holm([check.p_value or 0.0 for check in self.checks])
        for check, p_value in zip(self.checks, corrected, strict=True):
            yield replace(check, holds=p_value > FALSE_ALARM, p_value=p_value)
        for what, pairs in self.controls.items():
            yield Check("mistakes", f"sampled: {what}", None, self._power(pairs))

    def _power(self, pairs: Sequence[tuple[Counts, Counts]]) -> dict[str, float]:
        """Return the probability of detecting a mistake, by the first tokens alone."""
        level = FALSE_ALARM / len(self.checks)
        rng, missed, least = np.random.default_rng(0), np.ones(SIMULATIONS), 1.0
        for ars, mistaken in pairs:
            cells = sorted(ars.keys() | mistaken.keys())
            laws = [np.array([law[cell] for cell in cells]) for law in (ars, mistaken)]
            drawn = [rng.multinomial(law.sum(), law / law.sum(), SIMULATIONS) for law in laws]
            missed *= roughly_alike(*drawn) > level
            least = min(least, float(roughly_alike(*(law[None] for law in laws))[0]))
        power = 1 - float(missed.mean())
        return {
            "power": power,
            "p_value": min(1.0, least * len(self.checks)),
            "prompts": len(pairs),
        }
