"""The proof of real files: it passes a sound pair and finds each kind of mistake."""

from typing import get_args

import numpy as np
import pytest

from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.rule import Verdict
from assistant.decoding.sources.draft import Cascade, Draft
from assistant.decoding.sources.suffix import SuffixSource, TailSource
from assistant.engine.control import Control
from assistant.lab.protocol import Check, Layer, Measuring, Prove
from assistant.lab.prove import proof, replay
from assistant.lab.prove.pair import ProvedPair
from assistant.request import EngineArgs, Sampling
from models.errors import Cancelled
from models.files.snapshots import Snapshots
from models.native.model import NativeModel
from tests import tiny
from tests.assistant.engine.answering import assistant_with
from tests.engine import ENGINE, llama_alone

HOT = Sampling(temperature=12.0)  # the tiny models' logits are far apart


@pytest.fixture(scope="module")
def tiny_target(tmp_path_factory):
    return tiny.write(tmp_path_factory.mktemp("proof") / "target.gguf", seed=11, stops=False)


@pytest.fixture(scope="module")
def tiny_draft(tmp_path_factory):
    path = tmp_path_factory.mktemp("proof") / "draft.gguf"
    return tiny.write(path, seed=12, like=11, noise=1.0, stops=False)


@pytest.fixture(autouse=True)
def little(monkeypatch):
    """A few samples will do for most tests."""
    monkeypatch.setattr(proof, "QUICK", (200, 40, 1, 1))


@pytest.fixture
def many(monkeypatch):
    monkeypatch.setattr(proof, "QUICK", (1500, 40, 1, 1))


@pytest.fixture
def pair(open_model, tiny_target, tiny_draft):
    return pair_of(open_model(tiny_target), open_model(tiny_draft, max_rows=1))


def pair_of(target, draft, sampling=HOT):
    return ProvedPair(assistant_with(target, draft, SuffixSource(), TailSource()), sampling, 3, 5)


def proved(job):
    events = list[object]()
    return proof.prove(job, Control(), events.append), events


def checks(events, *layers):
    return [each for each in events if isinstance(each, Check) and each.layer in layers]


def test_a_sound_pair_passes_everything(tiny_target, tiny_draft, many):
    """It fails by chance in one of a million runs: the p-value is a bound."""
    setup = EngineArgs(tiny_target, tiny_draft, threads=1, engine=ENGINE)
    result, events = proved(Prove(setup, HOT, seed=7))
    assert result.paths == (tiny_target, tiny_draft)
    assert (result.no_draft, result.speculates, result.seed) == (None, True, 7)
    assert {each.holds for each in checks(events, *get_args(Layer))} == {True}
    for layer in get_args(Layer):
        assert checks(events, layer), layer
    written = checks(events, "greedy", "seed", "turn", "restored")
    assert all(each.figures["proposed"] for each in written)
    assert {each.figures["tokens"] - each.figures["identical rows"] for each in written} == {0}
    (seeded,) = checks(events, "seed")
    assert 0 < seeded.figures["accepted"] < seeded.figures["proposed"]
    assert {each.p_value is None for each in checks(events, "samples")} == {False}
    shares = [each.fraction for each in events if isinstance(each, Measuring)]
    assert shares == sorted(shares)
    assert shares[-1] > 0.9


def drops_by_token(propose, *given):
    """Decide by the token that was drawn whether it is proposed."""
    proposals = propose(*given).proposals
    dropped = proposals and proposals[-1].source == "model" and proposals[-1].token % 2
    return Draft(proposals[:-1] if dropped else proposals)


def test_a_controller_that_drops_proposed_tokens_fails(tiny_target, tiny_draft, many, monkeypatch):
    """With a seed no draft can change what is said; the samples have none. Both rules fail.

    Of 24 seeds the largest p-value was 5e-15, where less than 1e-6 is enough.
    """
    propose, seeded = Cascade.propose, np.random.default_rng
    monkeypatch.setattr(Cascade, "propose", lambda *given: drops_by_token(propose, *given))
    monkeypatch.setattr(np.random, "default_rng", lambda *seed: seeded(*(seed or (7,))))
    _, events = proved(Prove(EngineArgs(tiny_target, tiny_draft, threads=1, engine=ENGINE), HOT))
    assert {each.holds for each in checks(events, "greedy", "seed", "turn", "restored")} == {True}
    assert [each.holds for each in checks(events, "samples")] == [False, False]
    assert all(each.figures["proposed by model"] > 3000 for each in checks(events, "samples"))


@pytest.mark.parametrize("width", [32, 64])
def test_an_engine_that_misreads_wide_batches_fails(tiny_target, monkeypatch, width):
    """Of 32 tokens as some kernels do, or of a prompt alone; what bounds batches is not there."""
    logits = NativeModel.logits

    def misread(model, tokens, rows=1):
        wide = len(tokens) - min(model.cached(tokens), len(tokens) - rows) >= width
        found = logits(model, tokens, rows)
        return found[:, ::-1] if wide else found

    monkeypatch.setattr("assistant.engine.loader.limit_batch", lambda model, folder: False)
    monkeypatch.setattr(NativeModel, "logits", misread)
    _, events = proved(Prove(EngineArgs(tiny_target, threads=1, engine=ENGINE), HOT))
    assert [each.holds for each in checks(events, "noise")] == [True] * 3 + [width == 64, False]


def test_without_a_draft_copies_are_proposed(tiny_target):
    result, events = proved(Prove(EngineArgs(tiny_target, threads=1, engine=ENGINE), HOT))
    assert result.paths == (tiny_target,)
    assert "No model was chosen to guess" in result.no_draft
    assert all(each.holds is not False for each in checks(events, *get_args(Layer)))


@llama_alone
@pytest.mark.parametrize("kind", ["qwen35", "mamba"])
@pytest.mark.some(1)
def test_recurrent_pairs_hold(tmp_path, kind):
    target = tiny.write(tmp_path / "target.gguf", kind, seed=11, stops=False)
    draft = tiny.write(tmp_path / "draft.gguf", kind, seed=12, like=11, noise=1.0, stops=False)
    result, events = proved(Prove(EngineArgs(target, draft, threads=1, engine=ENGINE), HOT))
    assert result.speculates
    assert result.no_draft is None
    assert checks(events, "greedy")[0].figures["accepted"] > 0
    assert not [each for each in checks(events, *get_args(Layer)) if each.holds is False]


def test_a_target_that_cannot_take_back_is_not_compared(tiny_target, monkeypatch):
    monkeypatch.setattr(NativeModel, "_warm_up", lambda model: False)
    result, events = proved(Prove(EngineArgs(tiny_target, threads=1, engine=ENGINE)))
    assert not result.speculates
    assert not [each for each in events if isinstance(each, Check)]


def test_a_cancel_stops_it_with_what_was_found(tiny_target):
    control, events = Control(), []

    def emit(event):
        events.append(event)
        if checks([event], "noise"):
            control.cancel.raise_()

    with pytest.raises(Cancelled):
        proof.prove(Prove(EngineArgs(tiny_target, threads=1, engine=ENGINE)), control, emit)
    assert checks(events, "noise")
    assert not checks(events, "samples")


def found(pair, noise=0.0):
    return list(replay.check_texts(pair, "a task", pair.prompt("Why?"), 24, noise))


def restored(pair, noise=0.0):
    return replay.check_restored(pair, pair.prompt("Why? " * 12), 24, noise)


class Biased(CoupledRule):
    """Accept every proposal."""

    def verify(self, draft, target_rows, position):
        rows, count = tuple(target_rows), len(draft.proposals)
        return Verdict(count, rows[count], rows, (None,) * count)


def test_a_rule_that_is_biased_is_found(pair, monkeypatch):
    monkeypatch.setattr(replay, "rule_of", lambda request: Biased(request.seed or 0))
    for check in found(pair)[1:]:  # at temperature 0 this draft is always right
        assert (check.holds, check.note) == (False, replay.OTHER_TOKENS)


class Forgetful:
    """A model that mixes up a batch when more tokens than those were read before it."""

    def __init__(self, model):
        self._model, self._most = model, 0

    def logits(self, tokens, rows=1):
        taken_back = rows > 1 and self._most > len(tokens) - rows
        self._most = 0 if tokens == [0] else max(self._most, len(tokens))
        logits = self._model.logits(tokens, rows).copy()
        return logits[:, ::-1] if taken_back else logits

    def __getattr__(self, name):
        return getattr(self._model, name)


def test_rows_that_remember_rejected_proposals_are_found(pair):
    pair.target = Forgetful(pair.target)
    assert False in [check.holds for check in found(pair)]


@pytest.mark.parametrize(("noise", "note"), [(0.5, ""), (0.01, replay.TOO_FAR)])
def test_a_parting_is_explained_by_noise_alone(pair, noise, note):
    way, prompt = replay.ways(pair)[0], pair.prompt("Why?")
    ars = replay.continue_text(pair, pair.start(prompt), 12, way, by_ars=True)
    text = replay.continue_text(pair, pair.start(prompt), 12, way)
    place = ars.start + 4
    ars.tokens[place] += 1
    ars.rows[place] = ars.rows[place] + 0.3
    check = replay.compare_texts(pair, way, "a task", ars, text, noise)
    assert (check.holds, check.note) == (not note, note)
    assert [check.figures[key] for key in ("parting", "off")] == pytest.approx([5, 0.3], rel=1e-3)


@pytest.mark.parametrize("has_one_more", [True, False])  # or another first one
def test_a_snapshot_whose_state_is_of_other_tokens_is_found(pair, monkeypatch, has_one_more):
    write = Snapshots.write

    def wrong(snapshots, tokens, state):
        middle = len(tokens) // 2
        spoilt = [*tokens[:middle], 9, *tokens[middle:-1]] if has_one_more else [9, *tokens[1:]]
        pair.target.logits(spoilt, rows=0)
        write(snapshots, tokens, pair.target.state())

    monkeypatch.setattr(Snapshots, "write", wrong)
    assert restored(pair).holds is False


def test_rows_that_a_restore_changes_a_little_are_found(pair, monkeypatch):
    """Not enough to draw another token: the rows alone tell."""
    replayed = replay.replay_rows
    off = np.float32(0.01)
    monkeypatch.setattr(
        replay, "replay_rows", lambda *given: ((at, row + off) for at, row in replayed(*given))
    )
    check = restored(pair)
    assert (check.holds, check.note) == (False, replay.OTHER_ROWS)
    assert restored(pair, noise=0.02).holds


def test_a_state_that_was_not_restored_was_not_tested(pair, monkeypatch):
    monkeypatch.setattr(Snapshots, "write", lambda snapshots, tokens, state: None)
    check = restored(pair)
    assert check.holds is None
    assert "no room for a snapshot" in check.note


def test_noise_is_measured_row_by_row_and_logits_infinite_in_both_are_no_difference(pair):
    start, way = pair.start(pair.prompt("Why?")), replay.ways(pair)[0]
    text = replay.continue_text(pair, start, 12, way, by_ars=True)
    for row in text.rows.values():
        row *= np.float32(1.25)
    two, four, prompt = replay.check_noise(pair.target, text, (2, 4))
    assert [each.figures["rows"] for each in (two, four)] == [12, 12]
    assert two.figures["relative error"] == pytest.approx(0.2, abs=0.02)
    assert prompt.figures["relative error"] < 0.01
    assert two.figures["other best tokens"] == 0
    for row in text.rows.values():
        row *= -1
    assert next(replay.check_noise(pair.target, text, (2,))).figures["other best tokens"] == 12
    infinite = np.array([1.0, 2.0, -np.inf], np.float32)
    assert replay.largest_difference(infinite, infinite + 1) == 1
    assert replay.largest_difference(infinite, np.array([1.0, 2.0, 0.0], np.float32)) == np.inf


def test_at_temperature_0_other_texts_are_drawn_at_1(open_model, tiny_target, tiny_draft):
    models = open_model(tiny_target), open_model(tiny_draft, max_rows=1)
    assert pair_of(*models, Sampling(0)).warm.temperature == 1
    assert pair_of(*models, HOT).warm is HOT
