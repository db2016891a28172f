"""The law of the rounds of a whole answer, by exact enumeration of `Rounds`: no tolerance.

The draft fails on some contexts, which depend on tokens that were drawn. What was proposed before
must be judged anyway: a round that is thrown away because of a token has looked at it.
"""

import pytest

from assistant.decoding.sources.draft import Cascade
from assistant.decoding.sources.suffix import SuffixSource
from assistant.engine.control import Control
from assistant.engine.rounds import PlannedRound
from assistant.events import Warned
from models.native.model import NativeModel
from models.native.weights import Weights
from tests import tiny
from tests.engine import llama_alone
from tests.exact.answer import by_every_rule, decoded, planned, still
from tests.exact.coupling import Coupled, Numbers
from tests.exact.exact_rows import keep_all, normalised
from tests.exact.law import distance, law
from tests.exact.toy import Toy, chain_rule
from tests.exact.toy_sources import FailsAfter, modelled, modelled_by
from tests.models.evaluations import assert_same

START = (1,)


def first_tokens(target, sources, rule, length, lookahead=2):
    """Return the first `length` tokens of an answer."""
    return decoded(target, rule, Cascade(*sources), list(START), length, ("sps", lookahead))[0]


def failing(seed, n_vocab=2):
    """Return a draft model that fails when its last token is 0, and a source that copies."""
    return [modelled_by(FailsAfter(n_vocab, seed), n_vocab), SuffixSource()]


@by_every_rule
@pytest.mark.parametrize(
    ("seed", "n_vocab", "lookahead"),
    [*((seed, 2, 2) for seed in range(4)), pytest.param(1, 3, 3, marks=pytest.mark.thorough)],
)
def test_a_draft_failing_after_a_draw_leaves_the_law_of_the_target(rule, seed, n_vocab, lookahead):
    target = Toy(n_vocab, 3 + seed)
    found = law(
        lambda rng: first_tokens(target, failing(5 + seed, n_vocab), rule(rng), 3, lookahead)
    )
    assert distance(found, chain_rule(target, 3, start=START)) == 0


@by_every_rule
def test_the_mode_may_change_in_every_round_by_what_was_said(rule):
    target, lookaheads = Toy(3, 7, "zeros"), set()

    def run(rng):
        tokens, control = list(START), Control("sps", 2)
        how = modelled(Toy(3, 8)), rule(rng), keep_all, control
        rounds = planned(still(target, tokens, *how))
        while len(tokens) < len(START) + 3:
            lookaheads.add(next(rounds).round.proposed)
            control.mode = "sps" if sum(tokens) % 2 else "ars"
        return tuple(tokens[len(START) :][:3])

    assert distance(law(run), chain_rule(target, 3, start=START)) == 0
    assert lookaheads == {0, 2}


def test_with_a_seed_a_draft_that_fails_changes_no_token():
    def run(rng):
        numbers, target = Numbers(rng), Toy(2, 3)
        alone = first_tokens(target, [], Coupled(numbers), 2)
        return alone == first_tokens(target, failing(5), Coupled(numbers), 2)

    assert law(run) == {True: 1}


@by_every_rule
def test_a_draft_that_failed_is_verified_reported_and_asked_no_more(rule):
    ends = set()

    def run(rng):
        _, steps = decoded(Toy(2, 3), rule(rng), Cascade(failing(5)[0]), list(START), 5)
        failed = [i for i, step in enumerate(steps) if isinstance(step, Warned)]
        for i in failed:
            assert "continues without the draft model" in steps[i].text
            before, after = steps[i - 1], steps[i + 1 :]
            assert isinstance(before, PlannedRound)
            assert all(each.round.proposed == 0 for each in after)
            ends.add(before.round.proposed)
        return len(failed)

    assert set(law(run)) == {0, 1}
    assert ends == {0, 1}  # failed at once, and with one proposal in hand


class FromFile(Toy):
    """A recurrent model in llama.cpp, of whose vocabulary two tokens are left.

    What a context computes that goes on and is taken back has to be what a fresh one computes; the
    exact rows are made of that, as the last bits of two batches differ.
    """

    def __init__(self, weights, max_rows):
        super().__init__(2, 0)
        self._model = NativeModel(weights, n_ctx=256, threads=1, max_rows=max_rows)
        self._fresh = NativeModel(weights, n_ctx=256, threads=1, max_rows=1)
        self._seen = {}
        self.rollback, self.max_rows = self._model.rollback, max_rows

    def logits(self, tokens, rows=1):
        self._model.committed = self.committed
        found = self._model.logits([*tokens], rows)
        for end, row in zip(range(len(tokens) - rows + 1, len(tokens) + 1), found, strict=True):
            self.probs(tokens[:end])
            assert_same(row, self._seen[tuple(tokens[:end])])
        return super().logits(tokens, rows)

    def cached(self, tokens):
        return self._model.cached(tokens)

    def probs(self, prefix):
        prefix = tuple(prefix)
        if prefix not in self._seen:
            self._fresh.truncate(0)
            self._seen[prefix] = self._fresh.logits(prefix)[0].copy()
            first, second = (float(x) for x in self._seen[prefix][:2])
            self._rows[prefix] = normalised([1 + (first > second), 2 + (second > 0)])
        return self._rows[prefix]

    def close(self):
        self._model.close()
        self._fresh.close()


@llama_alone
@by_every_rule
@pytest.mark.parametrize(
    ("kind", "drafting"),
    [("lfm2", "mamba"), ("qwen35", "lfm2"), ("nemotron_h", "qwen35"), ("mamba", "mamba")],
)
def test_recurrent_models_keep_the_law_of_the_target(tmp_path, rule, kind, drafting):
    """Two proposals a round, of a draft that is recurrent too, and of the text."""
    weights = [
        Weights(tiny.write(tmp_path / f"{i}.gguf", each, seed=3 + i))
        for i, each in enumerate((kind, drafting))
    ]
    target, draft = FromFile(weights[0], 16), FromFile(weights[1], 1)
    sources = [modelled_by(draft, 2), SuffixSource()]
    found = law(lambda rng: first_tokens(target, sources, rule(rng), 3))
    assert distance(found, chain_rule(target, 3, start=START)) == 0
    for close in (target.close, draft.close, *(each.close for each in weights)):
        close()
