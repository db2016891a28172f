"""`TailSource`: after a rejection it proposes the rest of the rejected draft again."""

from unittest.mock import Mock

import pytest

from assistant.decoding.lookahead.plans import FixedPlan
from assistant.decoding.row import one_hot
from assistant.decoding.sources.draft import Cascade, Proposal
from assistant.decoding.sources.suffix import SuffixSource, TailSource, tail_bucket

CONTEXT = [8, 9]


def proposals(*tokens, source="model"):
    return [Proposal(token, one_hot(token), source) for token in tokens]


def tail(*drafted):
    source = TailSource()
    source.remember(CONTEXT, proposals(*drafted))
    return source


def offered(source, *decoded, budget=9):
    run = source.offer([*CONTEXT, *decoded], budget)
    return run.tokens if run else None


@pytest.mark.parametrize(
    ("decoded", "budget", "rest"),
    [
        ((1, 7), 9, (3, 4, 5)),  # what was proposed after the replaced token
        ((7,), 9, (2, 3, 4, 5)),
        ((7,), 2, (2, 3)),
        ((7, 2, 3), 9, (4, 5)),  # where it came true
        ((7, 2, 6), 9, None),  # a second wrong token ends it
        ((1, 2), 9, None),  # nothing is left of a draft that was right
        ((1, 2, 3, 4, 5), 9, None),
        ((1, 2, 3, 4, 7), 9, None),  # or of one that was wrong at its end
        ((7, 2, 3, 4, 5), 9, None),
    ],
)
def test_the_proposals_after_the_one_wrong_token_are_offered(decoded, budget, rest):
    assert offered(tail(1, 2, 3, 4, 5), *decoded, budget=budget) == rest


def test_a_round_without_proposals_forgets_nothing():
    source = tail(1, 2, 3, 4)
    source.remember([*CONTEXT, 7], [])
    assert offered(source, 7, 2) == (3, 4)


def test_another_draft_replaces_the_one_before():
    source = tail(1, 2, 3, 4)
    source.remember([*CONTEXT, 7], proposals(5, 6, 7))
    assert offered(source, 7, 1) == (6, 7)


def test_the_proposals_of_a_tail_have_no_tail():
    source = tail(1, 2, 3, 4)
    source.remember([*CONTEXT, 7], proposals(2, 3, source="tail"))
    assert offered(source, 7, 9) is None


def test_buckets_grow_with_every_token_of_the_tail_that_came_true():
    source = tail(1, 2, 3, 4, 5, 6, 7)
    run = source.offer([*CONTEXT, 1, 2, 0], 9)
    assert run.buckets == tuple(tail_bucket(2, behind) for behind in range(4))
    assert source.offer([*CONTEXT, 1, 2, 0, 4], 9).buckets == run.buckets[1:]
    assert [tail_bucket(0, i) for i in range(6)] == [0, 2, 4, 6, 8, 8]
    assert tail_bucket(2, 9) == tail_bucket(99, 9) == 9


def test_a_cascade_hands_its_proposals_to_the_tail():
    text = [1, 2, 3, 4, 5, 6, 7, 1, 2]
    cascade = Cascade(SuffixSource(), TailSource())
    assert cascade.propose(text, FixedPlan(4), Mock(), Mock()).tokens == (3, 4, 5, 6)
    second = cascade.propose([*text, 3, 9], FixedPlan(4), Mock(), Mock())
    assert [(each.token, each.source) for each in second.proposals] == [
        (5, "tail"),
        (6, "tail"),
        (7, "suffix"),
        (1, "suffix"),
    ]
