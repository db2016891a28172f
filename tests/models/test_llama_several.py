"""Several texts in one cache: each has the logits it has alone, and takes no harm of others."""

import random

import pytest

from models.base import SequenceTokens
from models.errors import Cancelled, ContextFull
from models.native.model import NativeModel
from models.progress import CancelFlag
from tests.engine import llama_alone
from tests.models.test_llama_cache import assert_same, fresh, random_tokens, tiny_model

pytestmark = llama_alone
PROMPT = random_tokens(random.Random(7), 60)


@pytest.fixture
def model(open_model, tiny_target):
    return open_model(tiny_target, texts=4)


def ask(model: NativeModel, texts: dict[int, tuple[list[int], int]]):
    """Ask for rows, and compare them with those that each text has in a context of its own."""
    got = model.logits_of({number: SequenceTokens(*text) for number, text in texts.items()})
    assert got.keys() == texts.keys()
    got = {number: rows.copy() for number, rows in got.items()}
    for number, (tokens, rows) in texts.items():
        assert got[number].shape == (rows, model.n_vocab)
        assert_same(got[number], fresh(model, tokens, rows))
    return got


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_texts_side_by_side_have_the_logits_that_each_has_alone(tmp_path, kind):
    """Rollbacks, beginnings and ends at random; a window of 32 tokens slides in one kind."""
    rng = random.Random(kind)
    with tiny_model(tmp_path, kind, texts=5) as model:
        texts = {number: list(PROMPT) for number in range(5)}
        for i in range(60):
            proposed = {number: random_tokens(rng, rng.randrange(5)) for number in texts}
            asked = {
                number: SequenceTokens([*tokens, *proposed[number]], len(proposed[number]) + 1)
                for number, tokens in texts.items()
                if rng.random() < 0.8 or number == i % 5
            }
            got = model.logits_of(asked)
            if i % 6 == 0:
                for number, text in asked.items():
                    assert_same(got[number], fresh(model, text.tokens, text.rows))
            for number in asked:
                kept = proposed[number][: rng.randrange(len(proposed[number]) + 1)]
                texts[number] += [*kept, rng.randrange(256)]
            if rng.randrange(8) == 0:  # another text begins where one is now
                texts[rng.randrange(5)] = list(texts[rng.randrange(5)])


def test_what_texts_begin_with_takes_its_place_once(open_model, tiny_target):
    model = open_model(tiny_target, n_ctx=256, texts=8)
    prompt = random_tokens(random.Random(1), 200)
    model.logits(prompt[:-1], rows=0)
    asked = {number: ([*prompt, number, 1, 2], 4) for number in range(8)}
    ask(model, asked)  # 8 * 203 tokens in 256 cells


def test_what_nobody_asks_for_any_more_is_kept_as_long_as_there_is_room(open_model, tiny_target):
    model = open_model(tiny_target, n_ctx=256, texts=3)
    ended = [*PROMPT, *random_tokens(random.Random(2), 120)]
    ask(model, {1: (ended, 1), 2: ([*PROMPT, 1], 1)})
    model.settle(ended)
    assert model.cached(ended) == len(ended)
    ask(model, {2: ([*ended[:-1], 3], 1)})
    longer = [*PROMPT, *random_tokens(random.Random(3), 180)]
    ask(model, {1: (longer, 1)})  # only without the other is there room for it
    assert model.cached(longer) == 0


def test_texts_that_do_not_fit_together_are_refused_and_the_cache_stays(open_model, tiny_target):
    model = open_model(tiny_target, n_ctx=256, texts=3)
    texts = [[*PROMPT, *random_tokens(random.Random(i), 90)] for i in range(3)]
    ask(model, {0: (texts[0], 1), 1: (texts[1], 1)})
    with pytest.raises(ContextFull, match="no room"):
        model.logits_of({number: SequenceTokens(text) for number, text in enumerate(texts)})
    ask(model, {0: ([*texts[0], 1], 2), 1: ([*texts[1], 2], 2)})


def test_a_text_is_read_where_the_cache_has_nothing_of_it(model):
    long = random_tokens(random.Random(4), 700)
    ask(model, {2: (long, 3), 3: ([*long[:600], 1, 2], 2)})
    assert model.cached(long) == 0


def test_one_text_goes_on_alone_with_what_any_of_them_has_read(open_model, tiny_target):
    model = open_model(tiny_target, n_ctx=256, texts=4)
    texts = {number: [*PROMPT, number, number] for number in range(4)}
    ask(model, {number: (text, 1) for number, text in texts.items()})
    model.settle([*texts[2], 1, 2, 3])
    assert model.held == tuple(texts[2])
    assert_same(model.logits([*texts[2], 1]), fresh(model, [*texts[2], 1]))
    assert model.cached(texts[1]) == len(PROMPT)
    model.logits(random_tokens(random.Random(9), 256))  # the others are forgotten


def test_settling_changes_nothing_where_there_is_one_text(model):
    model.logits([*PROMPT, 1, 2], rows=0)
    model.settle(PROMPT)
    assert model.held == (*PROMPT, 1, 2)


def test_a_cancel_leaves_all_texts_as_they_were(open_model, tiny_target):
    flag = CancelFlag()
    model = open_model(tiny_target, n_ctx=512, texts=3, cancel=flag)
    texts = {number: ([*PROMPT, number], 1) for number in range(3)}
    before = ask(model, texts)
    flag.raise_()
    with pytest.raises(Cancelled):
        model.logits_of(
            {number: SequenceTokens([*text, 7, 7], 3) for number, (text, _) in texts.items()}
        )
    flag.lower()
    after = ask(model, texts)
    for number in texts:
        assert_same(after[number], before[number])


@pytest.mark.parametrize("kind", ["mamba", "lfm2"])
def test_a_model_that_cannot_roll_back_tokens_holds_one_text(tmp_path, kind):
    with tiny_model(tmp_path, kind, texts=4) as model:
        assert model.most_texts == 1
        with pytest.raises(ValueError, match="number"):
            model.logits_of({1: SequenceTokens(PROMPT)})


def test_what_llama_cpp_would_die_of_is_refused(model):
    for texts in (
        {},
        {4: SequenceTokens(PROMPT)},
        {-1: SequenceTokens(PROMPT)},
        {0: SequenceTokens(PROMPT, 20), 1: SequenceTokens(PROMPT, 13)},
        {0: SequenceTokens([1], 2)},
    ):
        with pytest.raises(ValueError, match="must be in"):
            model.logits_of(texts)
    with pytest.raises(ContextFull):
        model.logits_of({0: SequenceTokens([1] * 1025)})


@pytest.mark.parametrize("texts", [1, 8])
def test_room_for_several_texts_changes_nothing_for_one(open_model, tiny_target, texts):
    """To the bit, the state on disk included: snapshots of one are good for the other."""
    one, other = open_model(tiny_target), open_model(tiny_target, texts=texts)
    long = random_tokens(random.Random(8), 400)
    assert (one.logits(long, 5) == other.logits(long, 5)).all()
    assert (one.logits(long[:333] + PROMPT, 9) == other.logits(long[:333] + PROMPT, 9)).all()
    held = one.held
    assert bytes(one.state()) == bytes(other.state())
    assert other.restore(held, one.state())
    assert (one.logits([*held, 1]) == other.logits([*held, 1])).all()
