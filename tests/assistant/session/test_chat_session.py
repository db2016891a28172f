"""`ChatSession`: questions, answers and branches are saved, and nothing shown is lost."""

from dataclasses import replace

import pytest

from assistant.events import Decoded, Finished, Prepared, Stop, Warned
from assistant.request import Request
from assistant.session.events import Added, Changed, NeedsModel
from assistant.settings.settings import Settings
from assistant.store.store import Store
from assistant.store.values import Attachment
from models.errors import StorageError, UsageError
from tests.answer_stats import BOTH, FIRST, MORE
from tests.assistant.session.scripted_session import MODEL, ScriptedSession
from tests.stored import end, stream


@pytest.fixture
def chats(tmp_path):
    """A file of conversations, and another program that has it open."""
    ours, theirs = Store(tmp_path / "chats.db"), Store(tmp_path / "chats.db")
    yield ours, theirs
    ours.close()
    theirs.close()


@pytest.mark.parametrize("on_disk", [True, False])
async def test_a_question_is_on_disk_before_the_engine_gets_it_and_is_told_so(chats, on_disk):
    stage = ScriptedSession(store=chats[0] if on_disk else Store(None))
    stage.session.submit("Why?")
    assert not on_disk or [each.content for each in chats[1].path(1)] == ["Why?"]
    assert stage.requests == []
    await stage.rest()
    assert [[each.content for each in r.messages] for r in stage.requests] == [["Why?"]]
    assert [each.record.content for each in stage.emitted(Added)] == ["Why?", ""]
    assert stage.requests[0].stored is on_disk
    assert ((race := stage.session.requests.race("Who?")) and race.stored) is False


async def test_an_answer_is_saved_while_it_streams_with_its_trace(chats):
    stage = ScriptedSession(store=chats[0])
    await stage.ask("Why?")
    await stage.decode("Bec")
    await stage.session.save()
    assert (chats[1].path(1)[-1].content, chats[1].path(1)[-1].state) == ("Bec", "streaming")
    await stage.decode("ause.")
    await stage.finish("Because.")
    assert stage.stored[-1] == ("assistant", "complete", "Because.")
    answer = stage.session.branch.records[-1]
    steps = [step.text for step in chats[0].trace(answer.id)]
    assert steps == [each.tokens[0].text for each in stage.emitted(Decoded)] == ["Bec", "ause."]
    assert stage.emitted(Changed)[-1].record == answer
    assert stage.session.idle
    await stage.ask("And?")
    assert stage.requests[-1].messages[1].token_ids == (65,)  # as it was decoded
    await stage.answer("So.")
    stage.session.ready(replace(MODEL, name="another"))  # to which they mean nothing
    await stage.ask("And?")
    assert not any(message.token_ids for message in stage.requests[-1].messages)


async def test_a_model_that_is_loaded_learns_once_from_stored_answers_or_they_are_forgotten(home):
    stage, tables = ScriptedSession(store=Store(home / "chats.db")), home / "ngrams"
    for learns in (True, False):
        stage.settings = Settings(learn=learns)
        stage.session.ready(MODEL)
        await stage.session.save()
        await stage.running
        assert len([*tables.iterdir()]) == learns
    tables.rmdir()
    tables.touch()  # in the way
    stage.settings = Settings()
    await stage.session.save()  # it was learnt already
    assert not stage.notes
    stage.session.ready(MODEL)
    await stage.session.save()
    await stage.running
    assert "Nothing is learnt from stored answers" in stage.notes[0]


async def test_a_question_without_a_model_waits_for_one_and_can_be_withdrawn():
    stage = ScriptedSession()
    stage.session.no_model("There is none.")
    await stage.ask("Why?")
    assert stage.emitted(NeedsModel)
    stage.session.stop()
    assert (stage.restored_inputs, stage.stored) == (["Why?"], [])
    stage.session.requests.expect_model()
    await stage.ask("How?")
    stage.session.ready(MODEL)
    await stage.rest()
    assert [each.content for each in stage.requests[0].messages] == ["How?"]


async def test_a_question_during_an_answer_is_answered_after_it():
    stage = ScriptedSession()
    await stage.ask("Why?")
    await stage.ask("And?")
    assert (len(stage.requests), stage.session.waits) == (1, True)
    await stage.answer("Because.")
    assert [each.content for each in stage.requests[1].messages] == ["Why?", "Because.", "And?"]
    await stage.answer("So.")
    assert stage.contents == ["Why?", "Because.", "And?", "So."]


@pytest.mark.parametrize("fails", [False, True])
async def test_an_answer_that_ends_before_its_first_token_gives_the_question_back(fails):
    stage = ScriptedSession(store := Store(None))
    await stage.ask("Why?")
    stage.session.stop()
    assert stage.stopped == 1
    await (stage.fail("The engine is gone.") if fails else stage.finish("", Stop.CANCELLED))
    assert (stage.restored_inputs, stage.roles, stage.stored) == (["Why?"], "", [])
    assert not store.summaries()  # no conversation without a message stays
    await stage.ask("How?")
    assert [each.title for each in store.summaries()] == ["How?"]
    assert stage.notes == ["The engine is gone."] * fails


async def test_a_stopped_answer_and_one_that_failed_keep_their_text():
    stage = ScriptedSession()
    await stage.ask("Why?")
    await stage.decode("Bec")
    await stage.fail()
    assert stage.stored[-1] == ("assistant", "failed", "Bec")
    await stage.ask("How?")
    await stage.decode("So")
    await stage.finish("So", Stop.CANCELLED)
    assert stage.stored[-1] == ("assistant", "stopped", "So")
    await stage.ask("Who?")
    await stage.decode("M")
    stage.session.shutdown()  # the program ends
    assert stage.stored[-1] == ("assistant", "stopped", "M")
    await stage.decode("e")  # which is not heard any more
    assert stage.stored[-1] == ("assistant", "stopped", "M")


async def test_another_answer_is_a_sibling_with_another_seed_and_none_if_it_never_began():
    stage = ScriptedSession(store := Store(None), make_request=lambda: Request((), seed=7))
    await stage.ask("Why?", "Because.")
    first = stage.session.branch.records[-1]
    stage.session.answer_again(first)
    stage.session.stop()  # while it waits
    assert stage.contents == ["Why?", "Because."]
    stage.session.answer_again(first)  # which never begins
    await stage.rest()
    stage.session.stop()
    await stage.finish("", Stop.CANCELLED)
    assert (stage.contents, stage.restored_inputs) == (["Why?", "Because."], [])
    stage.session.answer_again(first)
    await stage.answer("Therefore.")
    leaf = stage.session.branch.records[-1]
    assert leaf.siblings == (first.id, leaf.id)
    assert [request.seed for request in stage.requests] == [7, 8, 8]
    stage.session.branch.choose(first.id)
    assert stage.contents == ["Why?", "Because."]
    for left in ("Because.", "Therefore."):
        stage.session.answer_again(first)
        await stage.rest()
        stage.session.stop()
        await stage.finish("", Stop.CANCELLED)
        assert stage.contents == ["Why?", left]  # as before, and not the newer answer
        store.drop(first.id)  # in another program
    await stage.ask("And?")
    assert [m.content for m in stage.requests[-1].messages] == ["Why?", "Therefore.", "And?"]


async def test_an_edited_question_is_a_branch_unless_it_is_not_shown():
    stage = ScriptedSession(store := Store(None))
    await stage.ask("Why?", "Because.")
    first = stage.session.branch.records[0]
    stage.session.submit("Who?", edits=first)
    await stage.answer("Me.")
    assert stage.contents == ["Who?", "Me."]
    assert len(store.tree(1)) == 4
    stage.session.submit("How?", edits=first)  # which is not shown any more
    await stage.answer("So.")
    assert stage.contents == ["Who?", "Me.", "How?", "So."]


async def test_a_deleted_message_is_restored_a_fork_independent_and_another_that_is_none_refused():
    stage = ScriptedSession()
    await stage.ask("Why?", "Because.")
    await stage.ask("And?", "So.")
    before, path = stage.contents, stage.session.branch
    _, answer, third, _ = path.records
    path.delete(third)
    assert stage.contents == before[:2]
    path.restore(1, third.id)
    assert stage.contents == before
    path.fork(answer)
    assert (stage.contents, path.conversation) == (before[:2], 2)
    shown = path.records
    with pytest.raises(StorageError):
        stage.session.open(999)
    assert stage.session.branch.records == shown


async def test_a_cut_answer_continues_where_it_ended(chats):
    stage = ScriptedSession(store=chats[0])
    await stage.ask("Why?")
    await stage.decode("Be")
    await stage.finish("Be", Stop.LENGTH, stats=FIRST)
    cut = stage.session.branch.records[-1]
    stage.session.continue_from(cut)
    await stage.rest()
    assert stage.requests[-1].messages[-1].content == "Be"
    assert chats[1].path(1)[-1].state == "streaming"  # no other program continues it
    await stage.decode("cause.")
    stage.session.responses.save()
    assert chats[1].path(1)[-1].token_ids == ()  # the first part's are not those of all the text
    await stage.handle(Finished("cause.", (), Stop.STOP_STRING, MORE), last=True)
    assert stage.stored[-1] == ("assistant", "complete", "Because.")
    assert stage.session.branch.records[-1].token_ids == ()
    assert stage.session.branch.records[-1].stats == BOTH  # the figures of both parts
    with pytest.raises(UsageError, match="Only the last answer"):
        stage.session.continue_from(stage.session.branch.records[0])
    stream(chats[1], cut.id, "Because.", chats[0].trace(cut.id))  # until it is killed, or goes on
    stage.session.continue_from(stage.session.branch.records[-1])
    end(chats[1], cut.id, "Because. And")
    await stage.answer(" So.")
    assert [answer.content for answer in chats[1].tree(1)[1:]] == ["Because. And", "Because. So."]
    copy = stage.session.branch.records[-1]
    assert "".join(step.text for step in chats[1].trace(copy.id)) == copy.content
    end(chats[1], copy.id, "Because. No.")
    with pytest.raises(UsageError, match="Another specchat changed it"):
        stage.session.continue_from(copy)
    assert stage.contents[-1] == "Because. No."


@pytest.mark.parametrize("fails", [False, True])
async def test_a_failed_continuation_leaves_the_cut_answer(fails):
    stage = ScriptedSession()
    await stage.ask("Why?")
    await stage.decode("Be")
    await stage.finish("Be", Stop.CONTEXT)
    cut = stage.session.branch.records[-1]
    stage.session.continue_from(cut)
    await stage.rest()
    if fails:
        await stage.fail("The context is full.")
        assert stage.session.branch.records[-1] == cut
    else:
        await stage.finish("", Stop.CANCELLED)
        assert stage.session.branch.records[-1].token_ids == cut.token_ids
    assert stage.stored[-1] == ("assistant", "stopped", "Be")


async def test_an_answer_is_saved_in_a_conversation_that_was_left_and_continues_on_a_full_disk():
    stage = ScriptedSession(store := Store(None))
    await stage.ask("Why?")
    await stage.decode("Be")
    stage.session.open(None)
    await stage.finish("Be", Stop.CANCELLED)
    assert stage.roles == ""
    assert (store.path(1)[-1].content, store.path(1)[-1].state) == ("Be", "stopped")
    stage.session.open(1)
    fill_up(stage)
    stage.session.continue_from(stage.session.branch.records[-1])
    await stage.rest()
    await stage.decode("caus")
    await stage.finish("caus", Stop.LENGTH)  # in memory alone
    stage.session.continue_from(stage.session.branch.records[-1])
    await stage.answer("e.")
    assert (stage.contents, len(stage.notes)) == (["Why?", "Because."], 1)


def fill_up(stage: ScriptedSession) -> None:
    """Let every write to the store fail."""
    assert stage.store
    stage.store._database._sql.execute("PRAGMA query_only = 1")


@pytest.mark.parametrize("why", ["no store", "a full disk", "deleted by another program"])
async def test_a_conversation_that_cannot_be_saved_continues_in_memory(chats, why):
    stage = ScriptedSession(store=None if why == "no store" else chats[0])
    await stage.ask("Why?", "Because.")
    if why == "a full disk":
        fill_up(stage)
    elif why != "no store":
        chats[1].remove(1)
    await stage.ask("And?", "So.")
    await stage.ask("Really?", "Yes.")
    assert len(stage.notes) == (why != "no store")
    assert stage.contents == ["Why?", "Because.", "And?", "So.", "Really?", "Yes."]
    assert [m.content for m in stage.requests[-1].messages] == stage.contents[:-1]
    assert not stage.requests[-1].stored
    if why == "no store":
        with pytest.raises(StorageError):
            stage.session.branch.fork(stage.session.branch.records[-1])


async def test_the_next_request_is_known_before_it_is_sent_also_that_of_an_edited_question():
    stage = ScriptedSession()
    await stage.ask("Why?", "Because.")
    file = Attachment("a.txt", "text")
    assert (request := stage.session.requests.next("And", [file]))
    assert [each.role for each in request.messages] == ["user", "assistant", "user"]
    stage.session.submit("And now?", [file])
    await stage.rest()
    assert stage.requests[-1].messages[-1].content.startswith(request.messages[-1].content)
    assert stage.requests[-1].messages[:-1] == request.messages[:-1]
    assert (request := stage.session.requests.next("Or", edits=stage.session.branch.records[2]))
    assert [message.content for message in request.messages] == ["Why?", "Because.", "Or"]


async def test_dropped_turns_and_an_incomplete_constraint_are_noted():
    stage = ScriptedSession()
    await stage.ask("Why?")
    await stage.handle(Prepared(10, 0, 2))
    await stage.handle(Warned("By the way."))
    await stage.finish("{", Stop.LENGTH, complete=False)
    await stage.ask("Why?")
    await stage.handle(Warned("By the way."))  # which is said once of a conversation
    await stage.finish("{", Stop.CANCELLED, complete=False)  # which was wished for
    left_out = "Left out to fit the context: the oldest turns (2)."
    cut = "The answer ended before its form was complete."
    assert stage.notes == [left_out, "By the way.", cut]
