"""`unsent_text`: typed text stays with its conversation until it is sent."""

from threading import Event, Thread

import pytest

from assistant.session.unsent_text import EDITED, OPEN, Unsent, UnsentText, from_json, to_json
from assistant.store.store import Store
from assistant.store.values import Attachment
from models.errors import StorageError
from tests.assistant.session.scripted_session import ScriptedSession
from tests.stored import ask


class Typed:
    """A prompt."""

    text = ""
    queued: tuple[Unsent, ...] = ()

    def show_edit(self, is_edit: bool) -> None:
        self.is_edit = is_edit

    @property
    def typed(self) -> Unsent:
        return Unsent(self.text)

    def drop(self) -> None:
        self.text, self.queued = "", ()

    def insert(self, unsent: Unsent) -> None:
        self.text = unsent.text + self.text


class Typist:
    """Somebody who types in the conversations of a store."""

    def __init__(self, store: Store | None) -> None:
        self.prompt = Typed()
        self.session = ScriptedSession(store).session
        self.path = self.session.branch
        self.unsent = UnsentText(self.prompt, self.session)
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


def test_no_older_text_is_saved_after_a_newer_one(store, monkeypatch):
    typist, remember, begins, other = Typist(store), store.remember, Event(), Event()

    def slow(key, state):
        if "older" in state:
            begins.set()
            other.wait(0.2)  # the other one overtakes, if it can
        remember(key, state)
        if "newer" in state:
            other.set()

    monkeypatch.setattr(store, "remember", slow)
    typist.prompt.text = "older"
    thread = Thread(target=typist.unsent.save)
    thread.start()
    begins.wait()
    typist.prompt.text = "newer"
    typist.unsent.save()  # the program ends
    thread.join()
    assert Typist(store).prompt.text == "newer"


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


async def test_a_sent_text_is_not_unsent_any_more_and_a_change_replaces_its_question(store, asked):
    typist = Typist(store)
    typist.switch(asked)
    typist.prompt.text = "meanwhile"
    typist.unsent.change(typist.path.records[0])
    typist.prompt.text = "changed"
    typist.unsent.save()
    assert typist.path.records == (typist.unsent.replaced,)
    typist.prompt.text = " typed since"
    typist.unsent.submit(Unsent("changed"))
    assert [record.content for record in typist.path.records] == ["changed"]
    assert (typist.prompt.text, typist.unsent.replaced) == ("meanwhile typed since", None)
    typist.unsent.save()
    assert Typist(store).switch(asked, changes=True) == "changed"
    typist.unsent.change(typist.path.records[0])
    typist.session.open(None)
    assert typist.unsent.replaced is None  # which is not shown any more


async def test_a_withdrawn_first_question_is_the_unsent_text_of_a_new_conversation(store):
    typist = Typist(store)
    typist.unsent.submit(Unsent("One"))
    typist.session.withdraw()  # which removes its conversation, too
    typist.unsent.question_returned()
    typist.prompt.text = "One, typed since"
    typist.unsent.save()
    assert Typist(store).prompt.text == "One, typed since"


async def test_questions_wait_for_the_end_of_an_answer_in_their_order(store):
    typist = Typist(store)
    for text in ("One", "Two", "Three", "Four"):
        typist.unsent.submit(Unsent(text))
    for _ in range(2):
        typist.unsent.submit_next()  # as two quick keys do; an answer is under way
    assert [unsent.text for unsent in typist.prompt.queued] == ["Two", "Three", "Four"]
    assert [record.content for record in typist.path.records] == ["One"]
    typist.session.withdraw()
    typist.unsent.submit_next()
    assert [unsent.text for unsent in typist.prompt.queued] == ["Three", "Four"]


async def test_a_change_replaces_its_question_also_while_others_wait(store, asked):
    typist = Typist(store)
    typist.switch(asked)
    typist.prompt.queued = (Unsent("Two"),)
    typist.unsent.change(typist.path.records[0])
    typist.prompt.queued = (Unsent("Three"),)
    typist.unsent.submit_next()
    assert typist.unsent.replaced  # the next question does not replace it
    typist.unsent.submit(Unsent("changed"))
    assert [record.content for record in typist.path.records] == ["changed"]
    assert [unsent.text for unsent in typist.prompt.queued] == ["Two", "Three"]


def test_a_text_typed_before_the_store_opens_follows_the_saved_one(store):
    before, typist = Typist(store), Typist(None)
    before.prompt.text = "half a sen"
    before.unsent.save()
    typist.prompt.text = "tence"
    typist.unsent.save()  # nowhere
    typist.path.store = store
    typist.unsent.load()
    assert typist.prompt.text == "half a sentence"


async def test_a_question_that_is_sent_before_the_store_opens_waits_for_it(store):
    typist = Typist(None)
    typist.unsent.submit(Unsent("One"))
    typist.unsent.submit_next()
    assert (typist.path.records, typist.prompt.queued) == ((), (Unsent("One"),))
    typist.path.store = store
    typist.unsent.submit_next()
    assert (store.path(1)[0].content, typist.prompt.queued) == ("One", ())


def test_a_long_text_in_the_queue_is_still_one_to_be_read_by_passages():
    queued = Unsent("Why?", (Attachment("air.md", "Air.").by_passages,))
    assert from_json(to_json(Unsent(""), [queued])) == (Unsent(""), (queued,))
    assert queued.attachments[0].title == "air.md (by passages)"


def test_a_text_that_a_full_disk_does_not_take_stays_until_the_program_ends(store, asked):
    typist = Typist(store)
    store._database._sql.execute("PRAGMA query_only = 1")
    typist.prompt.text = "half"
    with pytest.raises(StorageError):
        typist.unsent.save()
    assert (typist.switch(asked), typist.switch(None)) == ("", "half")
