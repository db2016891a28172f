"""Rounds of tools: calls are asked about, run or refused, kept, and answered."""

import pytest

from assistant.events import Stop
from assistant.request import ToolCall
from assistant.talk.calls import NO_MORE, NOT_RUN, WAS_STOPPED
from assistant.talk.effects import CallSettled, StopCall
from tests.assistant.talk.stage import LIST, READ, Stage

STRANGE = ToolCall("disk__format", "{}", "call_9")


async def test_a_call_is_asked_about_runs_when_it_is_allowed_and_its_result_is_answered():
    stage = Stage(with_tools=True)
    await stage.ask("Why?", [READ])
    assert (stage.asked, stage.ran) == (["disk__read"], [])
    stage.talk.decide("once")
    await stage.run()
    await stage.answer("It is blue.")
    assert stage.roles == "uata"
    *_, asked, result = stage.requests[-1].messages
    assert (asked.calls, result.call_id, result.content) == (
        (READ,),
        "call_1",
        "disk__read returned",
    )
    assert [tool.name for tool in stage.requests[0].tools] == ["disk__read", "disk__list"]


@pytest.mark.parametrize("decision", ["conversation", "always"])
async def test_what_is_allowed_for_longer_runs_unasked(decision):
    stage = Stage(with_tools=True)
    await stage.ask("Why?", [READ])
    stage.talk.decide(decision)
    await stage.run()
    await stage.answer([READ, LIST])
    await stage.run()
    assert stage.asked == ["disk__read", "disk__list"]
    assert stage.ran == ["disk__read", "disk__read"]


async def test_a_refused_call_and_an_unknown_one_are_told_to_the_model():
    stage = Stage(with_tools=True)
    await stage.ask("Why?", [READ, STRANGE])
    stage.talk.decide("refuse")
    await stage.learn()
    texts = [message.content for message in stage.requests[-1].messages[-2:]]
    assert texts == ["The user did not allow this call.", "There is no tool disk__format."]
    assert stage.ran == []


async def test_a_tool_that_changed_after_it_was_allowed_is_asked_about_once_more():
    stage = Stage(with_tools=True)
    await stage.ask("Why?", [READ])
    stage.talk.decide("once")
    changed = stage.tools.box.tools[0]
    stage.tools.box.tools[0] = type(changed)(changed.tool, "disk", True, "of another")
    await stage.run()
    assert stage.asked == ["disk__read", "disk__read"]
    assert stage.roles == "ua"
    assert "disk__read has changed. Look at the call once more." in stage.notes


async def test_a_call_that_was_stopped_is_kept_and_nothing_follows_unasked():
    stage = Stage(with_tools=True)
    await stage.ask("Why?", [READ])
    stage.talk.decide("once")
    stage.talk.stop()
    assert stage.told(StopCall)
    stage.talk.returned(WAS_STOPPED, 0.1)
    assert stage.stored[-1] == ("tool", "stopped", "")
    count = len(stage.requests)
    stage.talk.go_on(stage.talk.path.leaf)
    await stage.learn()
    assert len(stage.requests) == count + 1


async def test_rounds_are_bounded_and_the_user_lets_them_go_on():
    stage = Stage(with_tools=True, rounds=1)
    await stage.ask("Why?", [READ])
    stage.talk.decide("always")
    await stage.run()
    assert len(stage.requests) == 1
    assert "The model has asked for tools once. n on the last result goes on." in stage.notes
    stage.talk.go_on(stage.talk.path.leaf)
    await stage.answer("Blue.")
    assert stage.roles == "uata"


async def test_a_client_that_asks_nobody_has_the_last_round_answered_in_words():
    stage = Stage(with_tools=True, rounds=1, goes_on=True)
    await stage.ask("Why?", [READ])
    stage.talk.decide("once")
    await stage.run()
    await stage.learn()
    assert stage.requests[-1].tool_choice == "none"
    assert NO_MORE in stage.requests[-1].messages[-1].content


async def test_a_model_that_asks_for_the_same_again_has_to_answer_in_words():
    stage = Stage(with_tools=True)
    await stage.ask("Why?", [READ])
    stage.talk.decide("always")
    await stage.run()
    await stage.answer([READ])
    await stage.run()
    await stage.learn()
    assert [request.tool_choice for request in stage.requests] == ["auto", "auto", "none"]


async def test_an_open_call_is_asked_about_when_its_conversation_is_opened_and_never_runs_unasked():
    stage = Stage(with_tools=True)
    await stage.ask("Why?", [READ])
    stage.talk.decide("always")
    stage.talk.stop()
    stage.talk.returned(WAS_STOPPED, 0.1)
    stage.talk.answer_again(stage.talk.path.leaf)  # asks about the call once more
    assert stage.asked == ["disk__read", "disk__read"]
    number = stage.talk.path.conversation
    stage.talk.open(None)
    assert stage.told(CallSettled)
    stage.talk.open(number)
    assert stage.asked[-1] == "disk__read"
    assert len(stage.ran) == 1


async def test_a_question_instead_of_a_decision_refuses_the_call():
    stage = Stage(with_tools=True)
    await stage.ask("Why?", [READ])
    stage.talk.say("Never mind.")
    await stage.learn()
    assert [record.stop for record in stage.talk.path.records if record.role == "tool"] == [
        "refused"
    ]
    assert [m.role for m in stage.requests[-1].messages] == ["user", "assistant", "tool", "user"]


async def test_calls_without_a_result_are_told_to_be_missing():
    stage = Stage()
    await stage.ask("Why?", [READ])  # of another program's tools: here are none
    stage.talk.say("And?")
    assert [m.content for m in stage.requests[-1].messages] == ["Why?", "", NOT_RUN, "And?"]


async def test_after_a_stop_nothing_runs_unasked_however_it_was_allowed():
    stage = Stage(with_tools=True)
    await stage.ask("Why?", [READ])
    stage.talk.decide("always")
    await stage.run()
    await stage.learn()
    stage.decode("Let me")
    stage.finish("Let me", Stop.CANCELLED, calls=(LIST, READ))
    assert stage.ran == ["disk__read"]
