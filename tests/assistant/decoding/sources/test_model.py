"""`ModelSource`: how much of a text the draft model reads."""

import pytest

from assistant.decoding.sources.model import ModelSource, VocabularyMapping
from tests.assistant.engine.counting_target import greedy

WINDOW = 40


@pytest.fixture
def model(open_model, tiny_draft):
    return open_model(tiny_draft, n_ctx=256, max_rows=1)


@pytest.fixture
def source(model):
    return ModelSource(model, VocabularyMapping.identity(model.n_vocab, model.n_vocab), WINDOW)


def test_the_draft_reads_only_the_end_of_a_long_new_text(source):
    text = [i % 97 for i in range(200)]
    source.read(text)
    assert source.pending(text) == WINDOW
    assert source.window_tokens(text) == text[-WINDOW:]


def test_a_growing_text_is_read_further_until_the_context_is_full(source, model):
    text = [i % 97 for i in range(50)]
    for _ in range(300):
        source.read(text)
        assert source.offer(text, 4) is not None
        source.row(text, greedy)
        assert source.pending(text) == 0
        text.append(len(text) % 89)
    assert len(source.window_tokens(text)) < model.n_ctx


def test_another_text_is_read_from_its_start(source):
    first = [i % 97 for i in range(200)]
    source.read(first)
    source.row(first, greedy)
    second = [(7 * i) % 89 + 1 for i in range(30)]
    source.read(second)
    assert source.window_tokens(second) == second
