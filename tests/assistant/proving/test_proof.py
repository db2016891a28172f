"""A proof of real files: it holds for what is right, and breaks where something is wrong."""

from functools import partial

import numpy as np
import pytest

from assistant.assistant import Assistant
from assistant.control import Control
from assistant.drafting.model import ModelSource
from assistant.loading import Pool
from assistant.proving import beside, proof, rollback, samples, statistics
from assistant.proving.acceptance import of_tokens
from assistant.proving.beside import STRAYS, TOO_FAR, compare, same_text
from assistant.proving.broken import AcceptsAll
from assistant.proving.findings import Check, Proved
from assistant.proving.pair import StandIn, paired
from assistant.proving.proof import Amounts, Proof
from assistant.proving.samples import Sampler
from assistant.proving.significance import Comparison
from assistant.proving.texts import ars, sps
from assistant.proving.widths import gap, measured, variation
from assistant.request import Prove, Sampling, Setup
from assistant.row import Row
from assistant.tuning.findings import Measuring
from assistant.verification.token import TokenRule
from models.errors import Cancelled, ModelError
from models.mapping import Mapping
from tests import tiny

HOT = Sampling(temperature=12.0)
"""The tiny models' logits are far apart."""


@pytest.fixture(scope="module")
def tiny_target(tmp_path_factory):
    return tiny.write(tmp_path_factory.mktemp("proof") / "target.gguf", seed=11, stops=False)


@pytest.fixture(scope="module")
def tiny_draft(tmp_path_factory):
    path = tmp_path_factory.mktemp("proof") / "draft.gguf"
    return tiny.write(path, seed=12, like=11, noise=1.0, stops=False)


@pytest.fixture(autouse=True)
def little(monkeypatch):
    """Enumeration has its own tests, and a few samples will do."""
    monkeypatch.setattr(statistics, "SECOND_LOOK", 50_000)
    monkeypatch.setattr(proof, "QUICK", Amounts(400, 48, 2, 1))
    every = list(proof.rules.cases())
    monkeypatch.setattr(proof.rules, "cases", lambda thorough: every[2:4])
    monkeypatch.setattr(proof.rules, "MISTAKES", proof.rules.MISTAKES[:1])


@pytest.fixture
def models(open_model, tiny_target, tiny_draft):
    return open_model(tiny_target), open_model(tiny_draft, max_rows=1)


def pair_of(target, draft, sampling=HOT, seed=0):
    source = ModelSource(draft, Mapping.by_number(target.n_vocab, draft.n_vocab))
    return paired(Assistant(target, target.weights.vocab, [source]), sampling, 3, seed)


@pytest.fixture
def pair(models):
    return pair_of(*models)


def proved(job, control=None):
    said = []
    return Proof(job, control or Control(), said.append, Pool()).run(), said


def checks(said, layer):
    return [each for each in said if isinstance(each, Check) and each.layer == layer]


def test_a_sound_pair_passes_everything(tiny_target, tiny_draft):
    setup = Setup(tiny_target, tiny_draft, threads=1)
    result, said = proved(Prove(setup, HOT, seed=7))
    assert isinstance(result, Proved)
    assert result.paths == (str(tiny_target), str(tiny_draft))
    assert (result.no_draft, result.speculates, result.seed) == (None, True, 7)
    assert not [each for each in said if isinstance(each, Check) and each.holds is False]
    for layer in ("enumeration", "mistakes", "noise", "rollback", "greedy", "seed", "sampling"):
        assert checks(said, layer), layer
    (greedy,) = checks(said, "greedy")
    assert greedy.figures["tokens"] >= 48
    assert greedy.figures["accepted"] > 0
    (seeded,) = checks(said, "seed")
    assert 0 < seeded.figures["accepted"] < seeded.figures["proposed"]
    rates = [each for each in checks(said, "sampling") if "z" in each.figures]
    assert any(0.1 < each.figures["measured"] < 0.9 for each in rates)
    power = [each.figures["power"] for each in checks(said, "mistakes") if "power" in each.figures]
    assert len(power) == 2
    assert max(power) > 0.9
    shares = [each.fraction for each in said if isinstance(each, Measuring)]
    assert shares == sorted(shares)
    assert shares[-1] > 0.9


def test_without_a_draft_the_target_stands_in(tiny_target):
    result, said = proved(Prove(Setup(tiny_target, threads=1), HOT))
    assert result.paths == (str(tiny_target),)
    assert "No draft" in result.no_draft
    assert checks(said, "greedy")[0].figures["accepted"] > 0
    assert not [each for each in said if isinstance(each, Check) and each.holds is False]


def test_a_target_that_cannot_take_back_is_not_compared(tmp_path):
    path = tiny.write(tmp_path / "mamba.gguf", "mamba")
    result, said = proved(Prove(Setup(path, threads=1)))
    assert not result.speculates
    assert not checks(said, "sampling")
    assert checks(said, "mistakes")


def test_a_broken_file_is_an_error_after_the_rules(tmp_path):
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF")
    said = []
    with pytest.raises(ModelError):
        Proof(Prove(Setup(path)), Control(), said.append, Pool()).run()
    assert checks(said, "enumeration")


def test_a_cancel_stops_it_with_what_was_found(tiny_target):
    control, said = Control(), []

    def emit(event):
        said.append(event)
        if isinstance(event, Check) and event.layer == "noise":
            control.cancel.raise_()

    with pytest.raises(Cancelled):
        Proof(Prove(Setup(tiny_target, threads=1)), control, emit, Pool()).run()
    assert checks(said, "enumeration")
    assert not checks(said, "sampling")


def test_samples_of_a_mistake_are_told_from_the_law(pair):
    sampler = Sampler(pair, 0, pair.prompt("Tell me a story."), 500)
    mistaken = Comparison()
    for length in (1, samples.LENGTH):
        sps_ = sampler.sps(sampler.streams(AcceptsAll))
        mistaken._compare("mistaken", sampler.ars(), sps_, length, sampler.rng())
    assert [each.holds for each in mistaken.results() if each.layer == "sampling"] == [False] * 2


def test_acceptance_that_is_off_is_told(pair, monkeypatch):
    class Lenient(TokenRule):
        """Accept a proposal as if it had been half as likely."""

        def verify(self, draft, target_rows, position):
            rows = (Row(row.ids, row.probs * 2) for row in target_rows)
            return super().verify(draft, rows, position)

    sampler = Sampler(pair, 0, pair.prompt("Tell me a story."), 500)
    comparison = Comparison()
    comparison._expect("lenient", sampler.sps(sampler.streams(Lenient), of_halves))
    assert False in [each.holds for each in comparison.results()]


def of_halves(round_):
    """Yield trials with the chances of the rows before they were doubled."""
    for trial in of_tokens(round_):
        yield trial._replace(chance=trial.chance / 2)


def test_a_prompt_is_evaluated_once_for_all_answers(pair):
    sampler = Sampler(pair, 0, pair.prompt("Tell me a story."), 300)
    sampler.ars()
    sampler.sps(sampler.streams(TokenRule))
    evaluations = sampler._target.evaluations
    assert evaluations < 150
    sampler.sps(sampler.streams(TokenRule))
    assert sampler._target.evaluations - evaluations < 20


def test_rows_after_wrong_tokens_are_those_of_a_clean_cache(pair):
    alone, _ = texts(pair)
    for check in rollback.traces(pair, alone, (2, 4), 0.0):
        assert check.holds
        assert check.figures["identical"] == check.figures["rows"]


def test_a_cache_in_which_wrong_tokens_leave_a_trace_is_noticed(models):
    alone, _ = texts(pair_of(*models))
    haunted = pair_of(Forgetful(models[0]), models[1])
    assert False in [each.holds for each in rollback.traces(haunted, alone, (2, 4), 0.0)]


def test_no_batch_of_samples_is_wider_than_a_round(models, monkeypatch):
    """Rows that depended on what was proposed behind them would be biased."""
    pair, widths = pair_of(*models), []
    evaluate = type(models[0])._evaluate

    def watched(model, tokens, rows):
        if model is models[0] and rows > 1:
            widths.append(len(tokens))
        evaluate(model, tokens, rows)

    monkeypatch.setattr(type(models[0]), "_evaluate", watched)
    sampler = Sampler(pair, 0, pair.prompt("Tell me a story."), 100)
    sampler.sps(sampler.streams(TokenRule))
    assert set(widths) == {samples.LOOKAHEAD + 1}


class Forgetful:
    """A model that mixes up a batch when more tokens than those were read before it."""

    def __init__(self, model):
        self._model, self.weights, self.max_rows = model, model.weights, model.max_rows
        self.n_ctx, self.n_vocab = model.n_ctx, model.n_vocab
        self._most = 0

    def logits(self, tokens, rows=1):
        taken_back = rows > 1 and self._most > len(tokens) - rows
        self._most = 0 if tokens == [0] else max(self._most, len(tokens))
        logits = self._model.logits(tokens, rows).copy()
        return logits[:, ::-1] if taken_back else logits

    def cached(self, tokens):
        return self._model.cached(tokens)


def test_rows_that_remember_rejected_proposals_break_it(models):
    vocab = models[0].weights.vocab
    pair = paired(Assistant(Forgetful(models[0]), vocab), HOT, 3, 0)
    found = {
        each.layer: each for each in compare(pair, "a task", pair.prompt("Why?"), 24, 0.0, None)
    }
    assert found["rollback"].holds is False
    assert found["greedy"].holds is False
    assert found["greedy"].note == STRAYS


def texts(pair, sampling=None):
    rule = TokenRule(np.random.default_rng(0))
    prompt = pair.prompt("Why?")
    return [decode(pair, prompt, 12, sampling or Sampling(0), rule) for decode in (ars, sps)]


@pytest.mark.parametrize(("noise", "holds"), [(0.5, True), (0.01, False)])
def test_a_parting_is_explained_by_noise_alone(pair, noise, holds):
    alone, batched = texts(pair)
    replay = beside.replayed_with(pair, batched, Sampling(0), TokenRule(np.random.default_rng(0)))
    place = alone.begin + 4
    alone.tokens[place] += 1
    alone.rows[place] = alone.rows[place] + 0.3
    check = same_text("greedy", "a task", alone, batched, replay, noise)
    assert check.holds is holds
    assert check.figures["place"] == 5
    assert check.figures["off"] == pytest.approx(0.3, rel=1e-3)
    assert check.note == ("" if holds else TOO_FAR)


def test_a_seed_says_the_same_by_both(pair):
    for seed in (0, 3):
        first, trace = compare(pair, "a task", pair.prompt("Why?"), 24, 0.0, seed)
        assert (first.layer, first.holds, trace.holds) == ("seed", True, True)
        assert "place" not in first.figures


def test_noise_of_widths_is_measured_row_by_row(pair):
    alone, _ = texts(pair)
    found = list(measured(pair, alone, (2, 4)))
    assert [(each.width, each.rows) for each in found] == [(2, 12), (4, 12)]
    for row in alone.rows.values():
        row += np.float32(0.25)
    off = next(iter(measured(pair, alone, (2,))))
    assert off.largest == pytest.approx(0.25, rel=1e-2)
    assert off.distance == pytest.approx(0, abs=1e-4)


def test_distances_of_rows():
    one, other = Row(np.array([0, 2]), np.array([0.5, 0.5])), Row(np.array([2]), np.ones(1))
    assert variation(one, other) == 0.5
    infinite = np.array([1.0, -np.inf], np.float32)
    assert gap(infinite, infinite + 1) == 1
    assert gap(infinite, np.array([1.0, 0.0], np.float32)) == np.inf


def test_the_stand_in_is_sometimes_wrong(models):
    target = models[0]
    pair = paired(Assistant(target, target.weights.vocab), HOT, 3, 0)
    assert isinstance(pair.source, StandIn)
    _, batched = texts(pair)
    assert 0 < batched.accepted < batched.proposed


def test_at_temperature_0_samples_are_drawn_at_1(models):
    assert pair_of(*models, Sampling(0)).warm.temperature == 1
    assert pair_of(*models, HOT).warm is HOT
    assert partial(samples.narrowed, HOT)().top_k == samples.NARROW
