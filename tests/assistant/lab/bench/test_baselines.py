"""The baselines of the benchmark: rows that are counted frequencies."""

from functools import partial

import numpy as np
import pytest

from assistant.decoding.sources.draft import Rows
from assistant.decoding.warp import warp
from assistant.lab.bench.trial_runner import RandomSource, baselines
from assistant.request import Sampling

TEXT = [1, 2, 1, 2, 1, 3, 1]


def row(source, tokens=TEXT, **sampling):
    source.read(tokens)
    values = {"temperature": 1, "top_k": 0, "top_p": 1, **sampling}
    found, evidence = source.row(tokens, lambda *each: warp(each[0], Sampling(**values), each[1]))
    return dict(zip(found.ids.tolist(), found.probs.tolist(), strict=True)), evidence


@pytest.mark.parametrize(
    ("name", "sampling", "expected"),
    [
        ("unigram", {}, {1: 4 / 7, 2: 2 / 7, 3: 1 / 7}),  # the frequencies of the conversation
        ("bigram", {}, {2: 2 / 3, 3: 1 / 3}),  # of what followed the last token
        ("bigram", {"temperature": 0}, {2: 1}),
        ("bigram", {"temperature": 0.5}, {2: 4 / 5, 3: 1 / 5}),
        ("unigram", {"top_k": 2}, {1: 2 / 3, 2: 1 / 3}),
    ],
)
def test_a_row_has_frequencies_warped_as_the_target_is(name, sampling, expected):
    assert row(baselines(9)[name], **sampling)[0] == pytest.approx(expected)


def test_a_token_that_nothing_followed_gives_no_row():
    source = baselines(9)["bigram"]
    source.read([1, 2, 3])
    assert source.offer([1, 2, 3], 4) is None
    assert source.offer([1, 2, 3, 1], 4) is not None
    assert baselines(9)["unigram"].offer([], 4) is None


def test_reading_on_counts_nothing_twice():
    for name in ("unigram", "bigram"):
        source = baselines(9)[name]
        for end in range(len(TEXT)):
            source.read(TEXT[:end])
        assert row(source) == row(baselines(9)[name])


def test_another_conversation_is_counted_by_itself():
    source = baselines(9)["bigram"]
    source.read([1, 4, 1, 4, 5])
    assert row(source) == row(baselines(9)["bigram"])


def test_evidence_is_how_much_was_counted():
    assert row(baselines(9)["bigram"])[1] == 2
    assert row(baselines(9)["unigram"], [1] * 10**4)[1] == 9


def test_a_guess_may_be_anything():
    source = RandomSource(5)
    source.read(TEXT)
    assert source.offer(TEXT, 1) == Rows("random")
    found, _ = source.row(TEXT, partial(warp, sampling=Sampling()))
    assert found.ids.tolist() == [0, 1, 2, 3, 4]
    assert (found.probs == np.full(5, 0.2)).all()
