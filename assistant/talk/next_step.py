"""What follows from the end of a path: calls without a result, results without an answer."""

from collections.abc import Sequence
from dataclasses import dataclass

from assistant.request import ToolCall
from assistant.store.values import Record
from assistant.talk.calls import calls_since_question, open_calls, unoffered
from assistant.talk.tool_set import ToolSet
from assistant.tools.values import OfferedTool


@dataclass(frozen=True, slots=True)
class AskAbout:
    """Ask the user whether a call may run."""

    call: ToolCall
    tool: OfferedTool


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run a call of a tool that is approved."""

    call: ToolCall
    tool: OfferedTool


@dataclass(frozen=True, slots=True)
class Unknown:
    """Keep for a call that there is no such tool."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class AnswerResults:
    """Have the results answered. `in_words`: the model must not ask for more."""

    in_words: bool = False


@dataclass(frozen=True, slots=True)
class AtLimit:
    """Ask the user whether the model may ask for more: it has done so often enough."""


NextStep = AskAbout | RunTool | Unknown | AnswerResults | AtLimit


def next_step(
    path: Sequence[Record],
    tools: ToolSet,
    conversation: int | None,
    live: bool,
    granted: int = 0,
    goes_on: bool = False,
) -> NextStep | None:
    """Return what follows from the end of a path; None: the user speaks next.

    Args:
        path: the messages on the screen.
        tools: those there are, and what is approved.
        conversation: the number of the path's.
        live: whether the path ends with something that has just ended by itself. Nothing runs at
            the end of a path that was only opened: the first call is asked about.
        granted: answers with calls that do not count, because the user agreed to more.
        goes_on: whether a model at the limit answers in words, rather than the user being asked.
    """
    if not path:
        return None
    calls = open_calls(path)
    if calls:
        tool = tools.find(calls[0].name, conversation)
        if not live or (tool is not None and tools.approved(tool, conversation) is None):
            return AskAbout(calls[0], tool or unoffered(calls[0]))
        return Unknown(calls[0]) if tool is None else RunTool(calls[0], tool)
    if path[-1].role != "tool" or not live:
        return None
    count, limit = len(calls_since_question(path)), tools.settings.rounds
    if count - (granted if count >= granted else 0) < limit:
        return AnswerResults()
    return AnswerResults(in_words=True) if goes_on else AtLimit()
