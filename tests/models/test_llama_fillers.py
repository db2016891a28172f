"""Fillers make a batch wider, and leave no trace: not in the logits, not in the cache."""

import random

import pytest

from models.base import SequenceTokens
from models.cancel import CancelFlag
from models.errors import Cancelled
from tests.models.test_llama_cache import assert_same, fresh, random_tokens, tiny_model

TOKENS = random_tokens(random.Random(5), 200)


def watched(model):
    """Return the widths of the batches that the model evaluates from now on."""
    widths = []
    evaluate = model._context.evaluate

    def noted(*parts):
        widths.append(sum(len(part.tokens) for part in parts))
        evaluate(*parts)

    model._context.evaluate = noted
    return widths


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_the_rows_and_the_cache_are_as_without_fillers(tmp_path, kind):
    rng, tokens = random.Random(kind), TOKENS[:40]
    with tiny_model(tmp_path, kind) as model, tiny_model(tmp_path, kind) as other:
        model.logits(tokens[:-1], rows=0)
        widths = watched(model)
        for _ in range(40):
            proposed, fillers = random_tokens(rng, rng.randrange(5)), rng.randrange(5)
            context, rows = [*tokens, *proposed], len(proposed) + 1
            got = model.logits(context, rows, fillers)
            assert got.shape == (rows, model.n_vocab)
            assert_same(got, fresh(model, context, rows))
            assert widths[-1] == rows + fillers
            assert model.held == tuple(context)
            assert other.restore(context, model.state())  # refused if it held one token more
            tokens = [*context[: len(tokens) + rng.randrange(rows)], rng.randrange(256)]


def test_texts_side_by_side_are_as_without_fillers(tmp_path):
    rng = random.Random(1)
    with tiny_model(tmp_path, texts=4) as model:
        texts = {number: [*TOKENS, number] for number in range(4)}
        model.logits(TOKENS, rows=0)
        widths = watched(model)
        for i in range(20):
            proposed = {number: random_tokens(rng, rng.randrange(4)) for number in texts}
            asked = {
                number: SequenceTokens([*text, *proposed[number]], len(proposed[number]) + 1)
                for number, text in texts.items()
                if number != i % 4
            }
            last = next(reversed(asked))
            text = asked[last]
            got = model.logits_of(asked | {last: SequenceTokens(text.tokens, text.rows, 3)})
            assert widths[-1] == sum(each.rows for each in asked.values()) + 3
            for number, each in asked.items():
                assert_same(got[number], fresh(model, each.tokens, each.rows))
                assert model._context.held[number] == each.tokens
                texts[number] = [*texts[number], rng.randrange(256)]


def test_where_there_is_no_room_for_fillers_there_are_none(open_model, tiny_target):
    model = open_model(tiny_target, n_ctx=256, texts=3)
    long = random_tokens(random.Random(2), 256)
    widths = watched(model)
    model.logits(long[:250], rows=0)
    for length, rows, fillers, width in ((254, 4, 9, 6), (256, 2, 9, 2), (256, 31, 9, 31)):
        assert_same(model.logits(long[:length], rows, fillers), fresh(model, long[:length], rows))
        assert widths[-1] == width
    assert model.logits(long[:100], 30, 9).shape[0] == 30
    assert widths[-1] == model.max_rows
    model.logits(long[:200], rows=0)
    nobodys = [*long[:200], 1, 2, 3]  # not asked for any more, and kept as long as there is room
    model.logits_of({2: SequenceTokens(nobodys)})
    beside = SequenceTokens([*long[:200], *TOKENS[:50]], 1, fillers=20)
    assert_same(model.logits_of({1: beside})[1], fresh(model, beside.tokens))
    assert model._context.held[1:] == [beside.tokens, nobodys]


@pytest.mark.parametrize("kind", ["mamba", "lfm2"])
def test_a_recurrent_model_is_given_none(tmp_path, kind):
    with tiny_model(tmp_path, kind) as model:
        widths = watched(model)
        assert_same(model.logits(TOKENS[:9], 1, fillers=3), fresh(model, TOKENS[:9]))
        assert widths == [9]
        model.logits(TOKENS[:10], 1, fillers=3)
        assert widths == [9, 1]


def test_a_cancel_in_a_filled_batch_leaves_the_cache_as_it_was(open_model, tiny_target):
    flag = CancelFlag()
    model = open_model(tiny_target, texts=2, cancel=flag)
    model.logits(TOKENS, rows=0)
    flag.raise_()
    with pytest.raises(Cancelled):
        model.logits([*TOKENS, 1, 2], 3, fillers=1)
    held = model.held
    with pytest.raises(Cancelled):
        model.logits_of({0: SequenceTokens([*TOKENS, 1], 1, 2)})
    flag.lower()
    assert held == tuple(TOKENS[: len(held)])
    assert len(held) >= len(TOKENS) - 1
    assert_same(model.logits([*TOKENS, 1, 2], 3, 1), fresh(model, [*TOKENS, 1, 2], 3))
