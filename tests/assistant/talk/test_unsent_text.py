"""What is typed and not sent: it stays where it was typed, whatever happens."""

import pytest

from assistant.store import Store
from assistant.talk.shown_path import ShownPath
from assistant.talk.unsent_text import UnsentText
from models.errors import StorageError


class Typed:
    """A prompt."""

    text = ""

    def state(self) -> str:
        return self.text

    def drop(self) -> None:
        self.text = ""

    def restore(self, state: str) -> None:
        self.text = state + self.text


class Typist:
    """Somebody who types in the conversations of a store."""

    def __init__(self, store: Store | None) -> None:
        self.prompt = Typed()
        self.path = ShownPath(lambda _: None, store, lambda: "")
        self.unsent = UnsentText(self.prompt, self.path)
        self.unsent.begin()

    def go(self, conversation: int | None, message: int | None = None) -> str:
        self.path.open(conversation)
        self.unsent.go(message)
        return self.prompt.text


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "chats.db")
    yield store
    store.close()


def test_every_conversation_a_new_one_and_every_question_has_its_own_also_after_a_restart(store):
    one, two, typist = store.begin(), store.begin(), Typist(store)
    for place in ((None,), (one,), (two,), (two, 7)):
        assert typist.go(*place) == ""
        typist.prompt.text = f"half of {place}"
    for _ in range(2):
        for place in ((two, 7), (two,), (one,), (None,)):
            assert typist.go(*place) == f"half of {place}"
        typist.unsent.keep()
        typist = Typist(store)


def test_what_was_sent_or_forgotten_is_not_unsent_any_more(store):
    one, typist = store.begin(), Typist(store)
    typist.go(one)
    typist.prompt.text = "sent"
    typist.unsent.keep()
    typist.prompt.text = "typed since"
    typist.unsent.sent()
    assert typist.prompt.text == "typed since"
    typist.prompt.drop()
    typist.go(one, 7)
    typist.prompt.text = "a change"
    typist.go(None)
    typist.go(one)
    typist.unsent.forget(7)
    typist.unsent.keep()
    for again in (typist, Typist(store)):
        assert (again.go(one, 7), again.go(one)) == ("", "")


def test_what_was_typed_before_there_was_a_store_follows_what_is_there(store):
    before, typist = Typist(store), Typist(None)
    before.prompt.text = "half a sen"
    before.unsent.keep()
    typist.prompt.text = "tence"
    typist.path.keep_in(store)
    typist.unsent.begin()
    assert typist.prompt.text == "half a sentence"


def test_what_a_full_disk_does_not_take_is_there_until_the_program_ends(store):
    one, typist = store.begin(), Typist(store)
    store._database._sql.execute("PRAGMA query_only = 1")
    typist.prompt.text = "half"
    with pytest.raises(StorageError):
        typist.unsent.keep()
    assert (typist.go(one), typist.go(None)) == ("", "half")
