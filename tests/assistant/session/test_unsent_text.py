"""`unsent_text`: typed text stays with its conversation until it is sent."""

import pytest

from assistant.session.active_branch import ActiveBranch
from assistant.session.unsent_text import EDITED, OPEN, UnsentText
from assistant.store.store import Store
from models.errors import StorageError
from tests.stored import ask


class Typed:
    """A prompt."""

    text = ""

    def show_edit(self, is_edit: bool) -> None:
        self.is_edit = is_edit

    def state(self) -> str:
        return self.text

    def drop(self) -> None:
        self.text = ""

    def restore(self, state: str) -> None:
        self.text = state + self.text

    def restore_input(self, text: str, attachments: object = ()) -> bool:
        self.text = text
        return True


class Typist:
    """Somebody who types in the conversations of a store."""

    def __init__(self, store: Store | None) -> None:
        self.prompt = Typed()
        self.path = ActiveBranch(lambda _: None, store, lambda: "")
        self.unsent = UnsentText(self.prompt, self.path)
        self.unsent.load()

    def switch(self, conversation: int | None, changes: bool = False) -> str:
        """Switch to a conversation, and change its first question or not; return what is there."""
        self.unsent.leave()
        self.path.open(conversation)
        self.unsent.switch()
        if changes:
            self.unsent.change(self.path.records[0])
        return self.prompt.text


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "chats.db")
    yield store
    store.close()


@pytest.fixture
def asked(store):
    """A conversation of one question, "One"."""
    conversation = store.create()
    ask(store, conversation, None, "One")
    return conversation


def test_each_conversation_and_each_question_has_its_own_also_after_a_restart(store, asked):
    other, typist = store.create(), Typist(store)
    places = {(None, False): "", (other, False): "", (asked, False): "", (asked, True): "One"}
    for place, before in places.items():
        assert typist.switch(*place) == before
        typist.prompt.text = f"half of {place}"
    for _ in range(2):
        for place in reversed(places):
            assert typist.switch(*place) == f"half of {place}"
        typist.unsent.save()
        typist = Typist(store)


def test_a_question_that_is_left_is_as_it_was_unless_it_was_changed(store, asked):
    typist = Typist(store)
    typist.switch(asked)
    typist.prompt.text = "meanwhile"
    assert not typist.unsent.leave()  # there is nothing that is changed
    for change in ("One", "One and a half", ""):
        typist.unsent.change(typist.path.records[0])
        typist.prompt.text = change
        assert typist.unsent.leave() is (change == "One and a half")
        assert typist.prompt.text == "meanwhile"
    typist.unsent.save()
    assert typist.switch(asked, changes=True) == "One"  # of an empty one nothing is kept


def test_the_open_conversation_and_question_are_saved(store, asked):
    typist = Typist(store)
    typist.switch(asked, changes=True)
    typist.unsent.save()
    question = typist.path.records[0].id
    assert (store.recall(OPEN), store.recall(EDITED)) == (str(asked), str(question))
    again = Typist(store)  # which was not anywhere yet
    again.unsent.save()
    assert (store.recall(OPEN), store.recall(EDITED)) == ("", "")


def test_a_sent_text_is_not_unsent_any_more_and_a_change_replaces_its_question(store, asked):
    typist = Typist(store)
    typist.switch(asked)
    typist.prompt.text = "meanwhile"
    typist.unsent.change(typist.path.records[0])
    typist.prompt.text = "changed"
    typist.unsent.save()
    assert typist.unsent.replaced == typist.path.records[0]
    typist.prompt.text = " typed since"
    typist.unsent.sent()
    assert (typist.prompt.text, typist.unsent.replaced) == ("meanwhile typed since", None)
    typist.unsent.save()
    assert Typist(store).switch(asked, changes=True) == "One"
    typist.unsent.change(typist.path.records[0])
    typist.path.open(None)
    assert typist.unsent.replaced is None  # which is not shown any more


def test_a_withdrawn_first_question_is_the_unsent_text_of_a_new_conversation(store):
    typist = Typist(store)
    question = typist.path.add_question("One", ())
    typist.unsent.sent()
    typist.path.remove(question)  # and its conversation
    typist.unsent.question_returned()
    typist.prompt.text = "One, typed since"
    typist.unsent.save()
    assert Typist(store).prompt.text == "One, typed since"


def test_a_text_typed_before_the_store_opens_follows_the_saved_one(store):
    before, typist = Typist(store), Typist(None)
    before.prompt.text = "half a sen"
    before.unsent.save()
    typist.prompt.text = "tence"
    typist.unsent.save()  # nowhere
    typist.path.save_in(store)
    typist.unsent.load()
    assert typist.prompt.text == "half a sentence"


def test_a_text_that_a_full_disk_does_not_take_stays_until_the_program_ends(store, asked):
    typist = Typist(store)
    store._database._sql.execute("PRAGMA query_only = 1")
    typist.prompt.text = "half"
    with pytest.raises(StorageError):
        typist.unsent.save()
    assert (typist.switch(asked), typist.switch(None)) == ("", "half")
