"""The tables of stored answers are private, and are deleted with the answers."""

import pytest

from assistant.engine.sources import ngram_store
from assistant.engine.sources.ngram import open_tables
from assistant.store.files import database_path
from assistant.store.store import Store
from models import catalog
from tests.stored import ask, begin, end

ANSWER = (1, 2, 3, 4)


@pytest.fixture
def store(home):
    store = Store(database_path())
    yield store
    store.close()


def stored_answer(store, token_ids=ANSWER, model="target"):
    """Keep a question and its answer, and return their conversation and the answer."""
    conversation = store.create()
    question = ask(store, conversation, None, "?")
    answer = begin(store, conversation, question.id, model)
    end(store, answer.id, "!", token_ids=token_ids, stop="stop-token")
    return conversation, answer.id


def learn(store, model="target"):
    ngram_store.refresh(model, store.answer_tokens(model))


def known(model="target"):
    return open_tables(ngram_store.path_of(model)).find(ANSWER[:2])


def test_answers_of_all_conversations_are_learnt_those_of_each_model_for_itself(store):
    for _ in range(3):
        stored_answer(store, model="another/../model")
    learn(store)
    assert known() is None
    learn(store, "another/../model")
    assert known() is None
    assert known("another/../model") == (3, 3, 100)
    assert len(list(ngram_store.folder().iterdir())) == 2


def test_deleted_and_dropped_answers_are_not_learnt_again(store):
    kept = [stored_answer(store) for _ in range(4)]
    learn(store)
    assert known().times == 4
    store.delete(kept[0][0])
    store.drop(kept[1][1])
    learn(store)
    assert known().times == 2


def test_forgetting_leaves_no_file_and_in_a_home_that_is_one_removes_nothing(
    store, tmp_path, monkeypatch
):
    ngram_store.clear()
    stored_answer(store)
    stored_answer(store)
    learn(store)
    ngram_store.clear()
    assert list(ngram_store.folder().iterdir()) == []
    assert known() is None
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPECCHAT_HOME", str(tmp_path / "file"))
    ngram_store.clear()


def test_only_so_many_tokens_are_read(store, monkeypatch):
    monkeypatch.setattr(ngram_store, "MAX_TOKENS", 2 * len(ANSWER) - 1)
    for _ in range(5):
        stored_answer(store)
    learn(store)
    assert known().times == 2


def test_the_bundled_ngrams_are_for_the_default_vocabulary_alone():
    (path,) = ngram_store.BUNDLED.glob("*.ngrams")
    assert path.stem == catalog.DEFAULT.target.vocabulary
    assert path.stat().st_size < 100_000
    assert len(open_tables(path)) > 2000
