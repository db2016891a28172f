"""A conversation without a screen: nothing that was said or shown is lost."""

import pytest

from assistant.events import Answered, Finished, OneOf, Prepared, Stop
from assistant.request import Request
from assistant.stats import Stats
from assistant.store import Store
from assistant.talk.effects import AnswerEnded, AskEngine, FindModel, QuestionAdded, StopEngine
from models.errors import StorageError, UsageError
from tests.assistant.talk.stage import MODEL, Stage


async def test_a_question_is_stored_before_the_engine_hears_of_it():
    stage = Stage()
    stage.talk.say("Why?")
    kinds = [type(effect) for effect in stage.effects]
    assert kinds.index(QuestionAdded) < kinds.index(AskEngine)
    assert stage.stored == [("user", "complete", "Why?"), ("assistant", "streaming", "")]


async def test_an_answer_is_kept_with_how_it_was_decoded():
    stage = Stage()
    await stage.ask("Why?", "Because.")
    assert stage.stored[-1] == ("assistant", "complete", "Because.")
    answer = stage.talk.path.records[-1]
    assert [step.text for step in stage.store.answers.trace(answer.id)] == ["Because."]
    assert stage.told(AnswerEnded)[-1].record == answer
    assert stage.talk.idle


async def test_what_is_asked_without_a_model_waits_for_one_and_can_be_taken_back():
    stage = Stage()
    stage.talk.no_model("There is none.")
    stage.talk.say("Why?")
    assert stage.told(FindModel)
    with pytest.raises(UsageError, match="waiting already"):
        stage.talk.say("And?")
    stage.talk.stop()
    assert (stage.given_back, stage.stored) == (["Why?"], [])
    stage.talk.expect_model()
    stage.talk.say("How?")
    stage.talk.ready(MODEL)
    assert [each.content for each in stage.requests[0].messages] == ["How?"]


async def test_a_stop_before_the_first_word_gives_the_question_back():
    stage = Stage()
    stage.talk.say("Why?")
    stage.talk.stop()
    assert stage.told(StopEngine)
    stage.finish("", Stop.CANCELLED)
    assert (stage.given_back, stage.roles, stage.stored) == (["Why?"], "", [])


async def test_a_stopped_answer_and_one_that_failed_keep_their_text():
    stage = Stage()
    stage.talk.say("Why?")
    stage.decode("Bec")
    stage.talk.keep()
    assert stage.stored[-1] == ("assistant", "streaming", "Bec")
    stage.fail()
    assert stage.stored[-1] == ("assistant", "failed", "Bec")
    stage.talk.say("How?")
    stage.decode("So")
    stage.finish("So", Stop.CANCELLED)
    assert stage.stored[-1] == ("assistant", "stopped", "So")


async def test_a_failure_before_the_first_word_gives_the_question_back():
    stage = Stage()
    stage.talk.say("Why?")
    stage.fail("The engine is gone.")
    assert (stage.given_back, stage.notes, stage.roles) == (["Why?"], ["The engine is gone."], "")


async def test_another_answer_is_a_sibling_with_another_seed():
    stage = Stage(asks=lambda: Request((), seed=7))
    await stage.ask("Why?", "Because.")
    first = stage.talk.path.leaf
    stage.talk.answer_again(first)
    await stage.answer("Therefore.")
    leaf = stage.talk.path.leaf
    assert leaf.siblings == (first.id, leaf.id)
    assert [request.seed for request in stage.requests] == [7, 8]
    stage.talk.path.choose(first.id)
    assert stage.talk.path.leaf.content == "Because."


async def test_another_answer_that_never_began_shows_the_first_again():
    stage = Stage()
    await stage.ask("Why?", "Because.")
    stage.talk.answer_again(stage.talk.path.leaf)
    stage.talk.stop()
    stage.finish("", Stop.CANCELLED)
    assert [record.content for record in stage.talk.path.records] == ["Why?", "Because."]
    assert stage.given_back == []


async def test_an_edited_question_is_a_branch():
    stage = Stage()
    await stage.ask("Why?", "Because.")
    stage.talk.say("Who?", instead_of=stage.talk.path.records[0])
    await stage.answer("Me.")
    assert [record.content for record in stage.talk.path.records] == ["Who?", "Me."]
    assert len(stage.store.tree(stage.talk.path.conversation)) == 4


async def test_an_answer_that_was_cut_goes_on_where_it_ended():
    stage = Stage()
    await stage.ask("Why?")
    stage.decode("Be")
    stage.finish("Be", Stop.LENGTH)
    stage.talk.go_on(stage.talk.path.leaf)
    assert stage.requests[-1].messages[-1].content == "Be"
    assert stage.stored[-1] == ("assistant", "streaming", "Be")  # no other program continues it
    stage.decode("cause.")
    stage.finish("cause.")
    assert stage.stored[-1] == ("assistant", "complete", "Because.")
    with pytest.raises(UsageError, match="Only the last answer"):
        stage.talk.go_on(stage.talk.path.records[0])


async def test_an_answer_to_a_conversation_that_was_left_is_kept_there():
    stage = Stage()
    await stage.ask("Why?")
    stage.decode("Bec")
    left = stage.talk.path.conversation
    stage.talk.open(None)
    stage.finish("Bec", Stop.CANCELLED)
    assert stage.roles == ""
    assert stage.store.path(left)[-1].content == "Bec"
    assert stage.store.path(left)[-1].state == "stopped"


async def test_the_end_of_the_program_keeps_what_there_is():
    stage = Stage()
    await stage.ask("Why?")
    stage.decode("Bec")
    stage.talk.leave()
    assert stage.stored[-1] == ("assistant", "stopped", "Bec")


async def test_what_a_full_disk_does_not_take_goes_on_as_values(monkeypatch):
    stage = Stage()
    await stage.ask("Why?", "Because.")

    def full(*arguments: object, **named: object):
        raise StorageError("The disk is full.")

    monkeypatch.setattr(stage.store, "ask", full)
    monkeypatch.setattr(stage.store.answers, "begin", full)
    await stage.ask("And?", "So.")
    await stage.ask("Really?", "Yes.")
    assert stage.notes == ["The disk is full."]
    told = [record.content for record in stage.talk.path.records]
    assert told == ["Why?", "Because.", "And?", "So.", "Really?", "Yes."]
    assert [m.content for m in stage.requests[-1].messages] == told[:-1]
    assert not stage.requests[-1].stored


async def test_without_a_store_a_conversation_is_had_anyway():
    stage = Stage(store=None)
    await stage.ask("Why?", "Because.")
    await stage.ask("And?", "So.")
    assert [m.content for m in stage.requests[-1].messages] == ["Why?", "Because.", "And?"]
    with pytest.raises(StorageError):
        stage.talk.path.fork(stage.talk.path.leaf)


async def test_several_answers_are_siblings_from_the_start_and_one_is_chosen():
    stage = Stage()
    stage.talk.add_question("Why?")
    stage.talk.several(3)
    assert (stage.requests[0].answers, stage.requests[0].tools) == (3, ())
    ends = [Finished(text, (65,), Stop.STOP_TOKEN, Stats("ars")) for text in ("A", "B")]
    for number, end in enumerate(ends):
        stage.talk.hear(OneOf(number, end))
    stage.talk.hear(Answered(3, 3, 1.0))
    stage.talk.job_over()
    stage.talk.path.choose(stage.told(AnswerEnded)[1].record.id)
    assert stage.talk.path.leaf.content == "B"
    assert len(stage.talk.path.leaf.siblings) == 2  # the third never began


async def test_what_the_engine_leaves_out_is_said():
    stage = Stage()
    stage.talk.say("Why?")
    stage.talk.hear(Prepared(10, 0, 2))
    assert stage.notes == ["Left out, to fit the context: the oldest turns (2)."]


async def test_a_form_that_was_not_complete_is_said_and_a_stop_is_not():
    stage = Stage()
    stage.talk.say("Why?")
    stage.finish("{", Stop.LENGTH, complete=False)
    stage.talk.say("Why?")
    stage.finish("{", Stop.CANCELLED, complete=False)
    assert stage.notes == ["The answer ended before it had its form."]


def test_a_conversation_that_cannot_be_read_leaves_the_one_on_the_screen(tmp_path):
    stage = Stage(store=Store(tmp_path / "chats.db"))
    stage.talk.say("Why?")
    stage.finish("Because.")
    before = stage.talk.path.records
    with pytest.raises(StorageError):
        stage.talk.open(999)
    assert stage.talk.path.records == before
