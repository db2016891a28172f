import re
from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assistant.store.store import Store
from tests.assistant.store.conversations import opened, talk
from tests.stored import begin, end, stream


@pytest.fixture(scope="module")
def library():
    store = Store(None)
    talk(store, "How do I bake sourdough bread?", 'Say "hello" (world) AND NOT * ^ : near')
    talk(store, "Explique-moi le café crème", "C++ x->y; a_b_c foo-bar")
    talk(store, "日本語で話してください", "ไทยภาษา")
    store.rename(talk(store, "Nothing")[0], "Groceries for Zoë")
    talk(store, "请修改youer服务端的计划", "iPhone手机 と 東京 旅行 の 予算")
    store.rename(talk(store, "Python 予算計画 C# F")[0], normalize("NFD", "Файл größe"))
    yield store
    store.close()


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("sourdough", [1]), ("bread bake", [1]),
        ("sourd bread", []),  # only the last word may be unfinished
        ("cafe creme", [2]), ("CAFÉ", [2]), ("foo-bar", [2]), ("groceries zoe", [4]), ("->", [2]),
        ('"hello" (world)', [1]), ("日本語", [3]), ("ภาษา", [3]), ("answer to", [6, 5, 4, 3, 2, 1]),
        ("youer", [5]), ("YOUER", [5]), ("youer bread", []), ("iphone", [5]), ("服务端", [5]),
        ("旅行 東京", [5]), ("予算", [6, 5]), ("予算 python", [6]), ("python 予算", [6]),
        ("手机", [5]), ("файл", [6]), ("GRÖßE", [6]), ("C++", [2]), ("c++ x->y", [2]), ("c#", [6]),
        ("F#", []), ("answer groceries", []), ("  ", [6, 5, 4, 3, 2, 1]), ("zzz", []),
    ],
)  # fmt: skip
def test_a_search_finds_the_conversations_with_all_its_words(library, search, found):
    assert [each.id for each in library.summaries(search)] == found


def test_a_hit_shows_the_words_around_it(library):
    assert "sourdough" in library.summaries("sourd")[0].snippet
    long = opened()
    talk(long, "word " * 500 + "needle " + "word " * 500)
    (found,) = long.summaries("needle")
    assert re.fullmatch("….* needle .*…", found.snippet)
    assert len(found.snippet) < 130


@given(st.text() | st.text(alphabet="\"*^:()-+{}[]NEAR OT\0\ud800aé日_'\\", max_size=40))
@example("a " * 100_000)
@example("a" * 1_000_000)
@example('"' * 10_001)
def test_no_search_fails(library, search):
    assert isinstance(library.summaries(search), tuple)


def test_a_message_is_found_as_long_as_it_is_to_be_seen(store):
    conversation, records = talk(store, "alpha", "beta")
    store.drop(records[2].id)
    assert store.summaries("beta") == ()
    store.restore(records[2].id)
    assert len(store.summaries("beta")) == 1
    answer = begin(store, conversation, records[0].id, "")
    stream(store, answer.id, "gamma")
    end(store, answer.id, "delta")
    assert store.summaries("gamma") == ()
    assert len(store.summaries("delta")) == 1
    store.rename(conversation, "epsilon")
    assert len(store.summaries("epsilon")) == 1
    store.rename(conversation, "zeta")
    assert store.summaries("epsilon") == ()


def test_texts_that_the_index_finds_are_not_searched_once_more_for_a_word_within_a_sentence():
    store, searched = opened(), []
    talk(store, "iPhone", "日本語")
    talk(store, "请修改iphone计划", "An iphone")

    def matches(pattern, text):
        searched.append(text)
        return "iphone" in text

    with store._database.connection() as sql:
        sql.create_function("glob", 2, matches)
    assert [each.id for each in store.summaries("iphone")] == [2, 1]
    assert searched
    assert all("计划" in text for text in searched)
