"""The rounds of an answer by `Rounds`, with a clock that stands still."""

from collections.abc import Iterable, Iterator
from functools import partial

import pytest

from assistant.constraints.mask import ConstraintMask
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.rule import TokenRule
from assistant.engine.control import Control
from assistant.engine.rounds import PlannedRound, Rounds
from tests.exact.exact_rows import exact_array, keep_all
from tests.exact.toy import chain_rule

START = (0, 1)  # the prompt, in which no form has a say
by_every_rule = pytest.mark.parametrize("rule", [TokenRule, BlockRule])
still = partial(Rounds, answer_start=0, clock=lambda: 0.0)


def planned(rounds: Iterable[object]) -> Iterator[PlannedRound]:
    """Yield the rounds of an answer in which nothing else happens."""
    for each in rounds:
        assert isinstance(each, PlannedRound)
        yield each


def decoded(target, rule, drafter, tokens, length, plan=("sps", 2), warp=keep_all, **held):
    """Return the next tokens after `tokens`, and all that the rounds have yielded."""
    start, steps = len(tokens), []
    rounds = iter(still(target, tokens, drafter, rule, warp, Control(*plan), **held))
    while len(tokens) < start + length:
        steps.append(next(rounds))
    return tuple(tokens[start:][:length]), steps


def masked_law(mask_of, warp, length, target):
    """Return the law of masked ArS by definition, each mask from the beginning."""

    def masked(logits, history):
        return warp(mask_of(list(START)).masked(logits, history), history)

    return chain_rule(target, length, masked, START)


class ExactMask(ConstraintMask):
    """The shipped mask, for logits that are exact probabilities."""

    def masked(self, logits, tokens, placed=None):
        allowed = self._allowed_tokens(tokens)
        if allowed is None:
            return logits
        kept = [(i in allowed.ids) != allowed.is_complement for i in range(len(logits))]
        result = [each if keep else 0 for each, keep in zip(logits, kept, strict=True)]
        return exact_array(result) if any(result) else None
