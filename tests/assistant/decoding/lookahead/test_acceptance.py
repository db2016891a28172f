"""`Acceptance`: the acceptance of each source, estimated from the rows of the rounds."""

from dataclasses import replace

import numpy as np
import pytest

from assistant.decoding.lookahead.acceptance import BY_CONFIDENCE, KNOWN, Acceptance
from assistant.decoding.loops import Rejected, Round, Sampled
from assistant.decoding.row import EMPTY, Row, one_hot
from assistant.decoding.sources.draft import Proposal, Run
from assistant.events import Origin
from tests.assistant.decoding.lookahead.machines import coin


def row(*probs: float) -> Row:
    return Row(np.arange(len(probs)), np.array(probs))


MISSED = Round((Sampled(1, Origin.TARGET, coin(0.1)),))
"""A round without proposals, in which a run would most likely have been wrong."""


def test_overlap_is_the_probability_of_acceptance():
    assert row(0.5, 0.25, 0.25).overlap(row(0.25, 0.5, 0.25)) == 0.75
    assert row(0.5, 0.5).overlap(one_hot(1)) == 0.5
    assert row(0.5, 0.5).overlap(one_hot(7)) == 0
    assert row(0.5, 0.5).overlap(EMPTY) == 0


def test_an_unused_run_is_judged_by_the_targets_row_at_its_start():
    acceptance, run = Acceptance(), Run("suffix", (0, 0), (3, 4))
    for _ in range(200):
        acceptance.observe(MISSED, [run])
    assert acceptance.estimate("suffix", 3) == pytest.approx(0.1, abs=0.01)


def test_one_bucket_changes_all_buckets_of_its_source_in_this_text_and_little_in_others():
    acceptance, run = Acceptance(), Run("suffix", (0, 0), (3, 4))
    for _ in range(20):
        acceptance.observe(MISSED, [run])
    usual = KNOWN["suffix"][4]
    assert acceptance.estimate("suffix", 3) < acceptance.estimate("suffix", 4) < usual / 2
    acceptance.begin()
    assert usual - 0.2 < acceptance.estimate("suffix", 4) < usual
    assert acceptance.estimate("suffix", 3) < KNOWN["suffix"][3]


def test_the_acceptance_of_a_source_outlives_the_text_and_fades():
    acceptance, run = Acceptance(), Run("suffix", (0, 0), (3, 3))
    for _ in range(20):
        acceptance.observe(MISSED, [run])
    shown = acceptance.lasting["suffix"]
    assert shown < -0.3
    later = Acceptance(acceptance.lasting)
    assert later.lasting["suffix"] == shown
    assert later.estimate("suffix", 5) < Acceptance().estimate("suffix", 5)
    for _ in range(300):
        later.begin()
    usual = Acceptance().estimate("suffix", 5)
    assert later.estimate("suffix", 5) == pytest.approx(usual, abs=0.01)


def test_acceptance_is_estimated_from_rows_and_not_from_outcomes():
    acceptance, proposal = Acceptance(), Proposal(0, one_hot(0), "suffix", 5)
    accepted = Sampled(0, Origin.DRAFT, coin(0.25), proposal, 0.1)
    round_ = Round((accepted, Sampled(1, Origin.TARGET, coin(1.0))))
    for _ in range(200):
        acceptance.observe(round_, ())
    assert acceptance.estimate("suffix", 5) == pytest.approx(0.25, abs=0.01)


def test_a_used_run_is_judged_once():
    run, proposal = Run("suffix", (0,), (5,)), Proposal(0, one_hot(0), "suffix", 5)
    replaced = Sampled(1, Origin.RESIDUAL, coin(0.5), proposal, 0.9)
    round_ = Round((replaced,), (Rejected(proposal, coin(0.5), 0.9),))
    both, alone = Acceptance(), Acceptance()
    both.observe(round_, [run])
    alone.observe(round_, ())
    assert both.estimate("suffix", 5) == alone.estimate("suffix", 5)


def test_an_unknown_source_begins_with_a_prior_for_every_bucket():
    acceptance = Acceptance()
    assert 0 < acceptance.estimate("new", 0) < acceptance.estimate("new", 99) < 1
    assert acceptance.estimate("suffix", 99) == pytest.approx(KNOWN["suffix"][-1])


def sure(margin: int, proposal: Proposal | None = None, odds: float = 1.0) -> Round:
    """Return a round of one token whose target row has a margin."""
    row = replace(coin(odds), margin=margin)
    token = Sampled(0, Origin.TARGET, row, proposal=proposal)
    return Round((token,), (Rejected(proposal, token.target_row, 0.9),) if proposal else ())


def likely(acceptance: Acceptance) -> float:
    """Return the expected acceptance of the model's proposals."""
    return acceptance.expected("model")


def test_an_unused_model_is_expected_to_be_good_where_the_target_is_confident():
    acceptance = Acceptance()
    for margin in (9, 0, 9):
        for _ in range(100):
            acceptance.observe(sure(margin), ())
        assert likely(acceptance) == pytest.approx(BY_CONFIDENCE[margin], abs=0.05)
    assert acceptance.optimistic("suffix") == Acceptance().optimistic("suffix")


def test_a_model_worse_than_its_buckets_stays_so_for_the_rest_of_the_text():
    acceptance, bad = Acceptance(), Proposal(0, one_hot(0), "model", 5)
    for _ in range(100):
        acceptance.observe(sure(5, bad, odds=0.3), ())
    assert acceptance.estimate("model", 5) == pytest.approx(0.3, abs=0.05)
    assert likely(acceptance) < BY_CONFIDENCE[5] / 2
    acceptance.begin()
    assert acceptance.estimate("model", 5) > 0.4


def test_the_optimistic_estimate_falls_towards_the_expected_one_with_observations():
    acceptance, proposal = Acceptance(), Proposal(0, one_hot(0), "model", 5)
    ahead = [acceptance.optimistic("model") - likely(acceptance)]
    for _ in range(30):
        acceptance.observe(sure(5, proposal, odds=KNOWN["model"][5]), ())
    ahead.append(acceptance.optimistic("model") - likely(acceptance))
    acceptance.begin()
    ahead.append(acceptance.optimistic("model") - likely(acceptance))
    assert 0 < ahead[1] < 0.8 * min(ahead[0], ahead[2])
