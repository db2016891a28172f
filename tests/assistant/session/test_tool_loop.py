"""`ToolLoop`: calls are approved or refused, run, saved, and answered."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.events import Stop
from assistant.request import ToolCall
from assistant.session.events import ApprovalClosed, ApprovalRequested
from assistant.session.messages import NO_MORE, NOT_RUN
from assistant.tools.values import ToolSettings
from models.errors import UsageError
from tests.assistant.session.scripted_session import LIST, READ, ScriptedSession, offered

STRANGE = ToolCall("disk__format", "{}", "call_9")
CHANGED = "disk__read has changed meanwhile. Look at the call again."


@pytest.fixture
def stage() -> ScriptedSession:
    return ScriptedSession(with_tools=True)


def change(stage: ScriptedSession) -> None:
    """Let every tool say something else of itself."""
    tools = stage.box.tools
    tools[:] = [replace(tool, fingerprint=f"{tool.fingerprint}!") for tool in tools]


async def test_a_call_is_asked_about_runs_when_it_is_allowed_and_its_result_is_answered(stage):
    await stage.ask("Why?", [READ])
    assert (stage.asked, stage.box.called) == (["disk__read"], [])
    assert stage.emitted(ApprovalRequested)[-1].urgent
    await stage.decide("once")
    await stage.answer("It is blue.")
    assert stage.roles == "uata"
    *_, asked, result = stage.requests[-1].messages
    result_text = "disk__read returned"
    assert (asked.tool_calls, result.call_id, result.content) == ((READ,), "call_1", result_text)
    assert [tool.name for tool in stage.requests[0].tools] == ["disk__read", "disk__list"]


@pytest.mark.parametrize("decision", ["conversation", "always"])
async def test_a_tool_allowed_for_longer_runs_unasked_until_it_changes(stage, decision):
    await stage.ask("Why?", [READ], decision=decision)
    await stage.answer([READ, LIST])
    assert stage.box.called == ["disk__read"] * 2
    assert stage.asked == ["disk__read", "disk__list"]
    await stage.decide("refuse")
    change(stage)
    await stage.answer([READ])
    assert stage.asked[-1] == "disk__read"


async def test_a_read_that_was_allowed_is_not_asked_about_again_in_one_answer(stage):
    await stage.ask("Why?", [READ], decision="once")
    await stage.answer([READ, LIST])
    assert stage.asked == ["disk__read", "disk__list"]
    await stage.decide("once")
    await stage.answer([READ, LIST])  # which does not only read
    assert stage.asked[2:] == ["disk__list"]
    await stage.decide("once")
    await stage.answer("It is blue.")
    await stage.ask("Why?", [READ])
    assert stage.asked[3:] == ["disk__read"]


async def test_while_a_call_waits_what_its_result_will_follow_is_known(stage):
    assert stage.session.requests.next("Why?") is None  # nobody knows the tools yet
    await stage.ask("Why?", [READ, LIST])
    for count in (1, 2):
        request = stage.session.requests.next("")
        await stage.decide("once")
        path = stage.requests[-1] if count == 2 else stage.session.requests.next("")
        assert request.messages[:-1] == path.messages[: len(request.messages) - 1]
        assert (request.messages[-1].role, request.tools) == ("tool", path.tools)
    assert len(path.messages) == 4


async def test_a_tool_always_allowed_is_so_in_a_conversation_that_is_not_saved():
    stage = ScriptedSession(with_tools=True, store=None)
    for decision in ("conversation", "always"):
        await stage.ask("Why?", [READ], decision=decision)
        await stage.answer("Blue.")
    await stage.ask("And?", [READ])
    assert (len(stage.asked), len(stage.box.called)) == (2, 3)


async def test_a_refused_call_is_told_to_the_model_and_not_asked_about_again_in_that_turn(stage):
    await stage.ask("Why?", [READ, STRANGE], decision="refuse")
    texts = [message.content for message in stage.requests[-1].messages[-2:]]
    assert texts == ["The user did not allow this call.", "There is no tool disk__format."]
    await stage.answer([replace(READ, id="call_8")])
    assert (stage.asked, stage.box.called, stage.roles) == (["disk__read"], [], "uattata")
    assert "just refused" in stage.requests[-1].messages[-1].content
    await stage.answer("Well.")
    await stage.ask("And now?", [READ])  # another question may have another answer
    assert stage.asked == ["disk__read"] * 2


async def test_an_answer_that_repeats_what_was_said_of_tools_is_asked_for_again_without(stage):
    await stage.ask("Why?", ' <tools>\n{"type": "function"}')
    assert [len(request.tools) for request in stage.requests] == [2, 0]
    assert "repeated its list of tools" in "".join(stage.notes)
    await stage.answer("Blue.")
    assert stage.contents == ["Why?", "Blue."]
    assert len(stage.session.branch.records[-1].siblings) == 2  # what was seen is kept


async def test_no_server_is_started_for_a_conversation_that_has_not_asked_for_tools(stage):
    tools = stage.tools
    tools.opt_in = True
    await stage.ask("Why?", "Blue.")
    assert (tools.is_listed, stage.requests[-1].tools) == (False, ())
    stage.session.open(None)
    tools.enabled[None] = True
    await stage.ask("Why?", [READ])  # it has its tools also when it is opened after a restart
    number = stage.session.branch.conversation
    assert tools.enabled == {number: True}
    tools.enabled.clear()
    stage.session.open(number)
    assert tools.enabled == {number: True}


async def test_a_tool_that_changed_after_it_was_allowed_is_asked_about_once_more(stage):
    await stage.ask("Why?", [READ])
    change(stage)
    await stage.decide("once")
    assert stage.asked == ["disk__read", "disk__read"]
    assert (stage.roles, stage.box.called) == ("ua", [])
    assert CHANGED in stage.notes
    await stage.decide("once")
    assert (stage.roles, stage.box.called) == ("uata", ["disk__read"])


async def test_a_call_that_waits_while_its_server_leaves_the_settings_is_of_no_tool(stage):
    await stage.ask("Why?", [READ])
    await stage.tools.use(ToolSettings((Path("/"),)), offline=False)
    await stage.decide("once")
    assert stage.notes == [CHANGED]
    assert stage.contents[2:] == ["There is no tool disk__read.", ""]


async def running(stage: ScriptedSession, *calls: ToolCall) -> None:
    """Have the first of some calls run until it is stopped."""
    stage.box.holds = True
    await stage.ask("Why?", calls)
    await stage.decide("always")
    assert stage.stored[-1] == ("tool", "streaming", "")


async def test_after_a_stopped_call_the_next_is_asked_about_however_it_was_allowed(stage):
    await running(stage, READ, replace(READ, id="call_3"))
    stage.session.stop()
    await stage.rest()
    assert stage.box.called == ["disk__read"]
    assert stage.asked == ["disk__read"] * 2
    stage.box.holds = False
    await stage.decide("once")
    assert [m.role[0] for m in stage.requests[-1].messages] == [*"uatt"]


async def test_a_call_that_runs_while_the_program_ends_is_kept_as_stopped(stage):
    await running(stage, READ)
    stage.session.shutdown()
    stage.running.cancel()
    await asyncio.gather(stage.running, return_exceptions=True)
    assert stage.stored[-1] == ("tool", "stopped", "")


async def test_a_question_while_a_call_runs_is_answered_after_it(stage):
    await running(stage, READ)
    await stage.ask("And?")
    assert len(stage.requests) == 1
    stage.session.tool_loop.stop()
    await stage.rest()
    assert [m.role[0] for m in stage.requests[-1].messages] == [*"uatu"]


async def test_rounds_are_bounded_and_the_user_lets_them_go_on():
    stage = ScriptedSession(with_tools=True, rounds=2)
    await stage.ask("Why?", [READ], decision="always")
    await stage.answer([LIST])
    await stage.decide("always")
    assert len(stage.requests) == 2
    assert "asked for tools 2 times. Press n on the last result" in "".join(stage.notes)
    stage.session.continue_from(stage.session.branch.records[-1])
    await stage.answer([replace(READ, arguments="{}")])
    await stage.answer("Blue.")
    assert stage.roles == "uatatata"
    await stage.ask("And?", [READ], [LIST])  # for which nobody has agreed to more
    assert len(stage.requests) == 6


async def test_where_nobody_is_asked_the_last_round_is_in_words_and_has_the_tools_of_then():
    stage = ScriptedSession(with_tools=True, rounds=1, answers_at_limit=True)
    await stage.ask("Why?", [READ])
    stage.box.tools.append(offered("disk__grown"))
    await stage.decide("once")
    assert stage.requests[-1].tool_choice == "none"
    assert stage.requests[-1].tools[-1].name == "disk__grown"
    assert NO_MORE in stage.requests[-1].messages[-1].content


async def test_a_model_that_asks_for_the_same_again_has_to_answer_in_words(stage):
    await stage.ask("Why?", [READ], decision="always")
    await stage.answer([READ])
    await stage.rest()
    assert [request.tool_choice for request in stage.requests] == ["auto", "auto", "none"]
    assert not any(NO_MORE in text for text in stage.contents)


async def test_an_open_call_is_asked_about_with_its_conversation_and_never_runs_unasked(stage):
    await stage.ask("Why?", [READ])
    stage.tools.approvals.allow(stage.box.tools[0], "always", 1)
    number = stage.session.branch.conversation
    stage.session.open(None)
    assert stage.emitted(ApprovalClosed)
    stage.session.open(number)
    await stage.rest()
    assert (stage.asked, stage.box.called) == (["disk__read"] * 2, [])
    assert not stage.emitted(ApprovalRequested)[-1].urgent
    await stage.decide("once")
    assert stage.roles == "uata"


async def test_a_call_is_asked_about_once_more_as_a_branch(stage):
    await stage.ask("Why?", [READ], decision="always")
    await stage.answer("Blue.")
    stage.session.answer_again(stage.session.branch.records[2])
    await stage.rest()
    assert (stage.asked, stage.box.called) == (["disk__read"] * 2, ["disk__read"])
    await stage.decide("once")
    assert len(stage.session.branch.records[2].siblings) == 2


async def test_a_question_instead_of_a_decision_refuses_the_call(stage):
    await stage.ask("Why?", [READ])
    await stage.ask("Never mind.")
    results = [record.stop for record in stage.session.branch.records if record.role == "tool"]
    assert results == ["refused"]
    assert [m.role for m in stage.requests[-1].messages] == ["user", "assistant", "tool", "user"]


async def test_calls_without_a_result_are_told_to_be_missing(stage):
    await stage.ask("Why?", [READ, LIST], decision="once")
    stage.session.answer()
    await stage.rest()
    assert [m.content for m in stage.requests[-1].messages[-2:]] == ["disk__read returned", NOT_RUN]
    without = ScriptedSession()
    await without.ask("Why?", [READ])  # of another program's tools: here are none
    await without.ask("And?")
    assert [m.content for m in without.requests[-1].messages] == ["Why?", "", NOT_RUN, "And?"]


async def test_after_a_stop_nothing_runs_unasked_however_it_was_allowed(stage):
    await stage.ask("Why?", [READ], decision="always")
    await stage.decode("Let me")
    await stage.finish("Let me", Stop.CANCELLED, calls=(LIST, READ))
    assert stage.box.called == ["disk__read"]
    assert stage.asked[-1] == "disk__list"


async def test_only_tools_that_were_named_are_offered_and_each_call_is_asked_about():
    stage = ScriptedSession(with_tools=True, names=("disk__read",))
    await stage.ask("Why?", [READ, LIST])
    assert [tool.name for tool in stage.requests[0].tools] == ["disk__read"]
    await stage.decide("always")
    assert "There is no tool disk__list." in stage.contents
    await stage.answer([replace(READ, arguments='{"path": "other"}')])
    assert stage.asked == ["disk__read"] * 2
    lacking = ScriptedSession(with_tools=True, names=("disk__fly",))
    with pytest.raises(UsageError, match="No tools are called 'disk__fly'"):
        await lacking.ask("Why?")


async def test_a_decision_that_the_user_left_at_once_runs_nothing_elsewhere(stage):
    await stage.ask("Why?", [READ])
    stage.session.tool_loop.resolve_approval("once")
    stage.session.open(None)
    await stage.rest()
    assert (stage.box.called, stage.roles) == ([], "")


async def test_an_answer_that_ends_elsewhere_has_nothing_run_here(stage):
    await stage.ask("Why?", [READ])
    stage.tools.approvals.allow(stage.box.tools[0], "always", 1)
    stage.session.open(None)
    await stage.ask("And?")
    stage.session.branch.open(1)
    await stage.answer("Yes.")
    assert (stage.box.called, stage.asked) == ([], ["disk__read"] * 2)
