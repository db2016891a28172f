"""What is measured of a draft, and which is kept: by its figures alone."""

from contextlib import closing
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest

from assistant.decoding.lookahead import cost_measurement
from assistant.decoding.warp import warp
from assistant.lab.opening import Opener
from assistant.lab.slim import search as searching
from assistant.lab.slim.draft_bench import (
    GREEDY,
    DraftFigures,
    Passage,
    SpeedForecast,
    answered,
    expected_tokens,
    forecast,
    overlaps,
)
from assistant.lab.slim.sample_text import OWN_WEIGHT, counts, own_text, written_everywhere
from assistant.lab.slim.search import GAIN, RecipeTrial, better, search, steps, winner
from assistant.request import Sampling, Setup
from assistant.store import Store, place
from models.cancel import CancelFlag
from models.errors import ModelError, UsageError
from models.gguf import read_vocabulary, summarise
from models.mapping import Mapping
from models.slim.workshop import Recipe, workshop
from tests import tiny

SAMPLINGS = (Sampling(temperature=0.8), GREEDY)
PROMPT = list(b"def slim(draft):")


@pytest.fixture
def passage(tiny_target, open_model):
    return answered(open_model(tiny_target), PROMPT, 40, SAMPLINGS, frozenset())


def identity(path):
    return Mapping.between(read_vocabulary(path), read_vocabulary(path))


def test_tokens_expected_with_one_acceptance_rate_are_those_of_the_paper():
    for rate, k in ((0.0, 1), (0.5, 3), (0.9, 7), (1.0, 4), (0.7, 0)):
        expected = sum(rate**i for i in range(k + 1))
        assert expected_tokens([rate] * 20, k) == pytest.approx(expected)


def test_acceptance_in_stretches_gives_more_than_its_average():
    stretches, scattered = [1.0] * 10 + [0.0] * 10, [1.0, 0.0] * 10
    assert expected_tokens(stretches, 3) > expected_tokens(scattered, 3)
    assert expected_tokens(scattered, 3) == pytest.approx(1 + 9 / 18)


def test_passage_that_is_shorter_than_a_draft_is_taken_as_it_is():
    assert expected_tokens([1.0, 0.5], 8) == 2.5


VERIFY = {1: 1.0, 2: 1.2, 4: 1.5, 8: 4.0}


def test_forecast_is_tokens_over_cost_at_the_best_lookahead():
    assert forecast([[1.0] * 30], 0.1, VERIFY) == SpeedForecast(
        pytest.approx(4 / (0.3 + 1.5)), (3,)
    )


def test_where_nothing_is_gained_nothing_is_lost():
    assert forecast([[0.0] * 30], 0.5, VERIFY) == SpeedForecast(1.0, (0,))


def test_speeds_of_passages_add_up_by_time():
    found = forecast([[1.0] * 30, [0.0] * 30], 0.1, VERIFY)
    assert found == SpeedForecast(pytest.approx(1 / ((1 + 1.8 / 4) / 2)), (3, 0))


def test_answer_is_the_same_each_time_and_its_rows_are_the_targets(tiny_target, open_model):
    target = open_model(tiny_target)
    first, second = (answered(target, PROMPT, 12, SAMPLINGS, frozenset()) for _ in range(2))
    assert first.tokens == second.tokens
    assert first.start == len(PROMPT)
    for i in range(12):
        prefix = list(first.tokens[: first.start + i])
        for sampling, rows in zip(SAMPLINGS, first.rows, strict=True):
            expected = warp(target.logits(prefix)[0], sampling, prefix)
            assert rows[i].ids.tolist() == expected.ids.tolist()


def test_answer_ends_after_a_stop_token(tiny_target, open_model):
    stops = frozenset(range(0, 256, 2))
    tokens = answered(open_model(tiny_target), PROMPT, 40, SAMPLINGS, stops).tokens
    assert [token in stops for token in tokens[len(PROMPT) :]].count(True) == 1
    assert tokens[-1] in stops


def test_target_accepts_itself_always(tiny_target, open_model, passage):
    found = overlaps(open_model(tiny_target), identity(tiny_target), passage, SAMPLINGS)
    for each in found:
        assert each == pytest.approx([1.0] * 40, abs=1e-3)


def test_overlap_is_the_sum_of_minima_position_by_position(
    tiny_target, tiny_draft, open_model, passage
):
    draft, mapping = open_model(tiny_draft, max_rows=7), identity(tiny_target)
    found = overlaps(draft, mapping, passage, SAMPLINGS)
    for i in range(40):
        prefix = list(passage.tokens[: passage.start + i])
        for sampling, rows, each in zip(SAMPLINGS, passage.rows, found, strict=True):
            row = warp(draft.logits(prefix)[0], sampling, prefix)
            expected = sum(min(rows[i].prob(token), row.prob(token)) for token in range(259))
            assert each[i] == pytest.approx(expected, abs=1e-4)


def test_overlap_of_a_draft_that_reads_several_tokens_for_one(tmp_path, open_model):
    path = tiny.write(tmp_path / "target.gguf", words=("def", "slim", "draft"), stops=False)
    short = tiny.write(tmp_path / "draft.gguf", seed=3, stops=False)
    mapping = Mapping.between(read_vocabulary(path), read_vocabulary(short))
    target, draft = open_model(path), open_model(short, max_rows=6)
    tokens = (259, 32, 260, 40, 261, 41, 259, 260, 58, 10, 261, 261, 32, 7)
    rows = tuple(
        tuple(warp(target.logits(tokens[:i])[0], sampling, []) for i in range(3, len(tokens)))
        for sampling in SAMPLINGS
    )
    found = overlaps(draft, mapping, Passage(tokens, rows), SAMPLINGS)
    for i, theirs in enumerate(rows[0]):
        known = mapping.known(tokens[: 3 + i])
        row = warp(mapping.shared(draft.logits(known)[0]), SAMPLINGS[0], [])
        mine = zip(mapping.named(row.ids).tolist(), row.probs.tolist(), strict=True)
        expected = sum(min(theirs.prob(token), share) for token, share in mine)
        assert found[0][i] == pytest.approx(expected, abs=1e-4)


def test_turns_leave_out_the_first_and_the_slower_half(monkeypatch):
    clock = iter([0, 0, 9, 9, 10, 10, 18, 18, 20])
    monkeypatch.setattr(cost_measurement, "perf_counter", lambda: next(clock))
    assert cost_measurement.in_turns([lambda: None], turns=4) == [1.5]


def test_own_text_counts_many_times(tiny_target, open_model):
    vocab = open_model(tiny_target).weights.vocab
    found = counts(vocab, 259, ["abc"], ["a"])
    assert (found[ord("a")], found[ord("b")], found.sum()) == (1 + OWN_WEIGHT, 1, 3 + OWN_WEIGHT)


def test_there_is_text_to_count_on_every_machine():
    text = "".join(written_everywhere())
    assert 500_000 < len(text) < 2_000_000
    assert "import" in text


def test_own_text_is_that_of_files_and_of_chats(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path / "home"))
    file = tmp_path / "notes.txt"
    file.write_text("notes of mine")
    assert list(own_text([file], chats=True)) == ["notes of mine"]
    assert not place().exists()  # looking for chats makes no store
    with closing(Store(place())) as store:
        store.ask(store.begin(), None, "a question of mine")
    assert "a question of mine" in "".join(own_text([], chats=True))
    assert list(own_text([], chats=False)) == []
    with pytest.raises(UsageError, match=r"none\.txt cannot be read"):
        list(own_text([tmp_path / "none.txt"], chats=False))


def figures(speedup, size=1):
    return DraftFigures(size, 0.5, 0.9, 0.9, SpeedForecast(speedup, (3,)))


def trial(speedup, recipe=None):
    return RecipeTrial(recipe or Recipe("Q4_0"), figures(speedup))


def test_best_is_replaced_by_what_is_clearly_better_alone():
    best = trial(1.0)
    assert better(best, []) is best
    assert better(best, [trial(GAIN - 0.001), RecipeTrial(Recipe(), None, "it failed")]) is best
    challenger = trial(GAIN + 0.001)
    assert better(best, [challenger, trial(1.001)]) is challenger


def test_winner_is_clearly_better_than_the_source():
    source = trial(1.0, Recipe())
    assert winner([source]) is None
    assert winner([source, trial(1.01)]) is None  # noise
    assert winner([source, RecipeTrial(Recipe("Q4_0"), None, "it failed")]) is None
    faster = trial(1.05)
    assert winner([source, faster, trial(1.03)]) is faster


def test_steps_are_those_that_make_a_file_smaller(tmp_path):
    summary = summarise(tiny.write(tmp_path / "tiny.gguf", layers=24))
    large = replace(summary, n_vocab=150_000)
    kinds, sizes, layers = steps(large)
    assert [recipe.kind for recipe in kinds] == ["Q8_0", "Q4_0"]
    assert [recipe.tokens for recipe in sizes] == [64_000, 32_000, 16_000]
    assert [len(recipe.dropped) for recipe in layers] == [1, 3]
    assert [r.kind for r in steps(replace(summary, quantisation="Q4_K_M"))[0]] == ["Q4_0"]
    assert steps(replace(summary, quantisation="Q4_0", n_vocab=32_000, layers=6)) == (
        [],
        [Recipe(tokens=16_000)],
        [],
    )


class FakeBench:
    """Figures by what a file is, for want of a machine that is always as fast."""

    speeds = MappingProxyType(
        {(0, 359, 8): 1.0, (2, 359, 8): 1.1, (2, 300, 8): 1.3, (2, 290, 8): 1.2}
    )

    def __init__(self, *arguments) -> None:
        pass

    def measure(self, draft):
        summary = summarise(draft.weights.path)
        kind = {"F32": 0, "Q4_0": 2, "Q8_0": 7}[summary.quantisation]
        if kind == 7:
            raise ModelError("it failed")
        speed = self.speeds.get((kind, summary.n_vocab, summary.layers), 1.0)
        return figures(speed)


def test_search_builds_on_the_best_so_far(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECCHAT_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr(searching, "DraftBench", FakeBench)
    monkeypatch.setattr(searching, "SIZES", (300, 290))
    words = tuple(f" word{i}" for i in range(100))
    source = tiny.write(tmp_path / "source.gguf", layers=8, words=words)
    summary = replace(summarise(source), n_vocab=1000)
    said: list[str] = []
    opener = Opener(Setup(source, threads=1), CancelFlag())
    with workshop(source, lambda: np.zeros(359, np.int64)) as made:
        trials = list(search(source, made, summary, Sampling(), opener, said.append))
    assert [(str(each.recipe), each.speedup) for each in trials] == [
        ("as it is", 1.0),
        ("Q8_0", 0.0),
        ("Q4_0", 1.1),
        ("Q4_0, 300 tokens", 1.3),
        ("Q4_0, 290 tokens", 1.2),
        ("Q4_0, 300 tokens, without layer 4", 1.0),
    ]
    assert trials[1].problem == "it failed"
    assert winner(trials) is trials[3]
    assert said == ["reading what the target answers", *(str(each.recipe) for each in trials)]
