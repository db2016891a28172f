"""A proof of real files: it holds for what is right, and breaks where something is wrong."""

from dataclasses import replace
from functools import partial
from typing import get_args

import numpy as np
import pytest

from assistant.decoding.lookahead.policy import Control
from assistant.decoding.row import Row
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.rule import Verdict
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.sources.suffix import SuffixSource
from assistant.decoding.sources.tail import TailSource
from assistant.engine.decoding_sequence import rule_of
from assistant.engine.reply import Assistant
from assistant.engine.weights_pool import Pool
from assistant.lab.protocol import Check, Layer, Measuring, Prove, Proved
from assistant.lab.prove import (
    batch_noise,
    enumeration,
    exact_tests,
    proof,
    samples,
    side_by_side,
    turns,
)
from assistant.lab.prove.batch_noise import gap, measured, variation
from assistant.lab.prove.enumeration import AcceptsAll
from assistant.lab.prove.pair import StandIn, ars, paired, sps
from assistant.lab.prove.proof import Amounts, Proof
from assistant.lab.prove.samples import Sampler
from assistant.lab.prove.side_by_side import STRAYS, TOO_FAR, TRACE, by_ars, compare, same_text
from assistant.lab.prove.significance import Comparison, one_by_one
from assistant.request import Sampling, Setup
from models.base import SequenceTokens
from models.errors import Cancelled, ModelError
from models.files.snapshots import Snapshots
from models.mapping import Mapping
from models.native.model import NativeModel
from tests import tiny
from tests.engine import llama_alone

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
    monkeypatch.setattr(exact_tests, "SECOND_LOOK", 50_000)
    monkeypatch.setattr(proof, "QUICK", Amounts(400, 48, 2, 1))
    monkeypatch.setattr(enumeration, "RULES", enumeration.RULES[:1])
    monkeypatch.setattr(enumeration, "MISTAKES", enumeration.MISTAKES[:1])


@pytest.fixture
def models(open_model, tiny_target, tiny_draft):
    return open_model(tiny_target), open_model(tiny_draft, max_rows=1)


def pair_of(target, draft=None, sampling=HOT, seed=0, copying=(), several=None):
    mapping = Mapping.by_number(target.n_vocab, target.n_vocab)
    sources = [*copying, ModelSource(draft, mapping)] if draft else []
    assistant = Assistant(target, target.weights.vocab, sources)
    assistant.several = several
    return paired(assistant, sampling, 3, seed)


@pytest.fixture
def pair(models):
    return pair_of(*models)


def proved(job):
    said = []
    return Proof(job, Control(), said.append, Pool()).run(), said


def checks(said, layer):
    return [each for each in said if isinstance(each, Check) and each.layer == layer]


def test_a_sound_pair_passes_everything(tiny_target, tiny_draft):
    setup = Setup(tiny_target, tiny_draft, threads=1)
    result, said = proved(Prove(setup, HOT, seed=7))
    assert isinstance(result, Proved)
    assert result.paths == (tiny_target, tiny_draft)
    assert (result.no_draft, result.speculates, result.seed) == (None, True, 7)
    assert not [each for each in said if isinstance(each, Check) and each.holds is False]
    for layer in get_args(Layer):
        assert checks(said, layer), layer
    for layer, count in (("turn", 4), ("several", 2), ("restored", 1)):
        found = checks(said, layer)
        assert [each.holds for each in found] == [True] * count
        assert all(each.figures["proposed"] for each in found)
        assert {each.figures["rows"] - each.figures["identical"] for each in found} == {0}
    assert set(result.times) >= {"the shipped turn", "samples"}
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
    assert result.paths == (tiny_target,)
    assert "No draft" in result.no_draft
    assert checks(said, "greedy")[0].figures["accepted"] > 0
    assert not [each for each in said if isinstance(each, Check) and each.holds is False]


@llama_alone
@pytest.mark.parametrize("kind", ["qwen35", "mamba"])
@pytest.mark.some(1)
def test_recurrent_pairs_hold(tmp_path, kind):
    target = tiny.write(tmp_path / "target.gguf", kind, seed=11, stops=False)
    draft = tiny.write(tmp_path / "draft.gguf", kind, seed=12, like=11, noise=1.0, stops=False)
    result, said = proved(Prove(Setup(target, draft, threads=1), HOT))
    assert result.speculates
    assert result.no_draft is None
    assert checks(said, "greedy")[0].figures["accepted"] > 0
    assert not [each for each in said if isinstance(each, Check) and each.holds is False]


def test_a_target_that_cannot_take_back_is_not_compared(tiny_target, monkeypatch):
    monkeypatch.setattr(NativeModel, "_warm_up", lambda model: False)
    result, said = proved(Prove(Setup(tiny_target, threads=1)))
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
    for length in (1, samples.SAMPLE_TOKENS):
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
    for trial in one_by_one(round_):
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
    for check in batch_noise.traces(pair, alone, (2, 4), 0.0):
        assert check.holds
        assert check.figures["identical"] == check.figures["rows"]


def test_a_cache_in_which_wrong_tokens_leave_a_trace_is_noticed(models):
    alone, _ = texts(pair_of(*models))
    haunted = pair_of(Forgetful(models[0]), models[1])
    assert False in [each.holds for each in batch_noise.traces(haunted, alone, (2, 4), 0.0)]


def test_no_batch_of_samples_is_wider_than_a_round(models, monkeypatch):
    """Rows that depended on what was proposed after them would be biased."""
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

    def logits(self, tokens, rows=1, fillers=0):
        taken_back = rows > 1 and self._most > len(tokens) - rows
        self._most = 0 if tokens == [0] else max(self._most, len(tokens))
        logits = self._model.logits(tokens, rows, fillers).copy()
        return logits[:, ::-1] if taken_back else logits

    def cached(self, tokens):
        return self._model.cached(tokens)


def test_rows_that_remember_rejected_proposals_break_it(models):
    pair = pair_of(Forgetful(models[0]))
    alone = by_ars(pair, pair.prompt("Why?"), 24, None)
    found = {each.layer: each for each in compare(pair, "a task", alone, 0.0, None)}
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
    replay = side_by_side.replayed_with(
        pair, batched, Sampling(0), TokenRule(np.random.default_rng(0))
    )
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
        alone = by_ars(pair, pair.prompt("Why?"), 24, seed)
        first, trace = compare(pair, "a task", alone, 0.0, seed)
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
    pair = pair_of(models[0])
    assert isinstance(pair.source, StandIn)
    _, batched = texts(pair)
    assert 0 < batched.accepted < batched.proposed


def test_at_temperature_0_samples_are_drawn_at_1(models):
    assert pair_of(*models, Sampling(0)).warm.temperature == 1
    assert pair_of(*models, HOT).warm is HOT
    assert partial(samples.narrowed, HOT)().top_k == samples.NARROW


@pytest.fixture
def shared(open_model, tiny_target, tiny_draft):
    """A pair whose target holds several texts, and what ArS says with its seed."""
    target, draft = open_model(tiny_target, texts=4), open_model(tiny_draft, max_rows=1)
    return pair_of(target, draft, seed=5, copying=(SuffixSource(), TailSource()), several=target)


def turned(pair, noise=0.0):
    alone = by_ars(pair, pair.prompt("Why?"), 24, pair.seed)
    return list(turns.turns(pair, alone, 24, noise))


def together(pair, noise=0.0):
    alone = by_ars(pair, pair.prompt("Why?"), 24, pair.seed)
    return list(turns.several(pair, alone, 24, noise))


def restored(pair, noise=0.0):
    return list(turns.restored(pair, 24, noise))


@pytest.mark.parametrize("layer", [turned, together, restored])
def test_what_is_shipped_says_what_ars_says(shared, layer):
    for check in layer(shared):
        assert check.holds, check
        assert check.figures["tokens"] == 24
        assert check.figures["proposed"] > 0


class Biased(CoupledRule):
    """Accept every proposal."""

    def verify(self, draft, target_rows, position):
        rows = tuple(target_rows)
        count = len(draft.proposals)
        return Verdict(count, rows[count], rows, (None,) * count)


def test_a_turn_with_a_biased_rule_is_found(shared, monkeypatch):
    monkeypatch.setattr(turns, "rule_of", lambda request, number: Biased(request.seed or 0))
    for check in turned(shared):
        assert check.holds is False
        assert check.note == STRAYS


def test_two_answers_that_share_a_seed_are_found(shared, monkeypatch):
    monkeypatch.setattr(turns, "rule_of", lambda request, number: rule_of(request))
    one, other = together(shared)
    assert one.holds
    assert other.holds is False
    assert other.note == STRAYS


class OneText:
    """A model of several texts that computes the first one's rows for all of them."""

    def __init__(self, model):
        self._model = model

    def logits_of(self, texts):
        first = texts[0] if 0 in texts else next(iter(texts.values()))
        mixed = {
            i: SequenceTokens([*first.tokens[: len(text.tokens)]][: len(text.tokens)], text.rows)
            for i, text in texts.items()
        }
        return self._model.logits_of(mixed)

    def __getattr__(self, name):
        return getattr(self._model, name)


class Crosstalk(OneText):
    """A model in which the second text reads the first one's last token instead of its own."""

    def logits_of(self, texts):
        mixed = dict(texts)
        if len(mixed) == 2:
            known = len(mixed[1].tokens) - mixed[1].rows
            tokens = list(mixed[1].tokens)
            tokens[known - 1] = mixed[0].tokens[len(mixed[0].tokens) - mixed[0].rows]
            mixed[1] = SequenceTokens(tokens, mixed[1].rows)
        return self._model.logits_of(mixed)


@pytest.mark.parametrize("broken", [OneText, Crosstalk])
def test_two_answers_that_share_a_text_are_found(shared, broken):
    checks = together(replace(shared, several=broken(shared.target)))
    assert checks[1].holds is False


def one_too_many(tokens):
    middle = len(tokens) // 2
    return [*tokens[:middle], 9, *tokens[middle:-1]]


def another_first(tokens):
    return [9, *tokens[1:]]


@pytest.mark.parametrize("spoilt", [one_too_many, another_first])
def test_a_snapshot_whose_state_is_of_other_tokens_is_found(shared, monkeypatch, spoilt):
    write = Snapshots.write

    def wrong(snapshots, tokens, state):
        shared.target.logits(spoilt(tokens), rows=0)
        write(snapshots, tokens, shared.target.state())

    monkeypatch.setattr(Snapshots, "write", wrong)
    (check,) = restored(shared)
    assert check.holds is False


def test_rows_that_a_restore_changes_a_little_are_found(shared, monkeypatch):
    """Not enough to draw another token: the rows alone tell."""
    go_on = turns.go_on

    def off(pair, texts, request, target):
        go_on(pair, texts, request, target)
        (text,) = texts
        text.rows[text.end - 1] = text.rows[text.end - 1] + np.float32(0.01)

    monkeypatch.setattr(turns, "go_on", off)
    (check,) = restored(shared)
    assert (check.holds, check.note) == (False, TRACE)
    (check,) = restored(shared, noise=0.02)
    assert check.holds


def test_what_was_not_restored_was_not_tested(shared, monkeypatch):
    monkeypatch.setattr(Snapshots, "write", lambda snapshots, tokens, state: None)
    (check,) = restored(shared)
    assert check.holds is None
    assert "no room for a snapshot" in check.note


def test_a_target_of_one_text_at_a_time_says_so(pair):
    (check,) = together(pair)
    assert check.holds is None
