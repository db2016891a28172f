"""Calls that answers ask for: asked about, run or refused, and kept with what they returned."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from assistant.request import ToolCall
from assistant.store.values import Record
from assistant.talk.calls import (
    WAS_REFUSED,
    WAS_STOPPED,
    calls_since_question,
    open_calls,
    unknown,
)
from assistant.talk.effects import (
    CallBegun,
    CallEnded,
    CallSettled,
    CallWaits,
    Effect,
    LearnTools,
    Noted,
    RunCall,
    StopCall,
)
from assistant.talk.next_step import AnswerResults, AskAbout, AtLimit, RunTool, Unknown, next_step
from assistant.talk.shown_path import ShownPath
from assistant.talk.tool_set import ToolSet
from assistant.tools.values import OfferedTool, ToolResult

Decision = Literal["once", "conversation", "always", "refuse"]


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A call that the user is asked about."""

    call: ToolCall
    tool: OfferedTool


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A call under way, and the message that its result will be."""

    record: Record
    call: ToolCall


class ToolRounds:
    """Have the calls at the end of a path decided and run, one after another.

    Args:
        tell: is given what to show and to run.
        goes_on: whether a model that has asked for tools often enough answers in words, rather
            than the user being asked.
    """

    def __init__(
        self, tell: Callable[[Effect], None], path: ShownPath, tools: ToolSet, goes_on: bool
    ) -> None:
        self._tell, self._path, self.tools, self._goes_on = tell, path, tools, goes_on
        self.call: WaitingCall | RunningCall | None = None
        """What is asked about, or runs."""
        self.live = False
        """Whether the path ends with something that has just ended by itself."""
        self._learns = self._learned = False  # which tools there are
        self._granted = 0  # answers with calls that the user has agreed to

    @property
    def running(self) -> bool:
        """Whether a call runs."""
        return isinstance(self.call, RunningCall)

    @property
    def in_words(self) -> bool:
        """Whether the model has asked for tools so often that it must not any more."""
        count = len(calls_since_question(self._path.records))
        return self._goes_on and self.tools.any and count >= self.tools.settings.rounds

    # Which tools there are

    def known(self) -> bool:
        """Say whether it is known which tools a question has; if not, have it learned."""
        if self.tools.any and not self._learned:
            self._learn()
            return False
        self._learned = False  # a question later there may be others
        if self._path.conversation is not None:
            self.tools.adopt(self._path.conversation)
        return True

    def learned(self) -> None:
        """Note that it is known now; say which servers fail."""
        self._learns, self._learned = False, True
        for problem in self.tools.new_problems():
            self._tell(Noted(problem))

    def _learn(self) -> None:
        if not self._learns:
            self._learns = True
            self._tell(LearnTools())

    # What follows from the end of the path

    def follow(self) -> bool:
        """Do what follows; return whether results are to be answered now."""
        path, tools = self._path, self.tools
        while self.call is None and tools.any:
            match next_step(
                path.records, tools, path.conversation, self.live, self._granted, self._goes_on
            ):
                case Unknown(call):
                    self._keep_end(call, unknown(call.name))
                    continue
                case RunTool(call, tool):
                    self._run(call, tool)
                case AskAbout():
                    self.appear()
                case AtLimit():
                    limit = tools.settings.rounds
                    times = "once" if limit == 1 else f"{limit} times"
                    text = f"The model has asked for tools {times}. n on the last result goes on."
                    self._tell(Noted(text))
                case AnswerResults():
                    return True
            return False
        return False

    def appear(self) -> None:
        """Ask about the first call at the end of the path that has no result yet."""
        self.settle()
        path = self._path
        step = next_step(path.records, self.tools, path.conversation, live=False)
        if not self.tools.any or self.running or not isinstance(step, AskAbout):
            return
        if not self.tools.known:
            self._learn()
            return
        self.call = WaitingCall(step.call, step.tool)
        self._tell(CallWaits(step.call, step.tool, urgent=self.live))

    def grant(self) -> None:
        """Let the model ask for tools as often again as at first."""
        self._granted = len(calls_since_question(self._path.records))

    # What the user decides

    def decide(self, decision: Decision) -> None:
        """Run the call that is asked about, or refuse it; it may then run unasked later.

        Raises:
            StorageError: that it may run unasked cannot be kept; the call runs anyway.
        """
        asked = self.call
        if not isinstance(asked, WaitingCall):
            return
        self.settle()
        if decision == "refuse":
            self._keep_end(asked.call, WAS_REFUSED)
            self.live = True
            return
        try:
            if decision != "once" and self._path.conversation is not None:
                self.tools.approvals.allow(asked.tool, decision, self._path.conversation)
        finally:
            self._run(asked.call, asked.tool)

    def refuse(self) -> None:
        """Refuse what is not decided: the user goes on without it."""
        self.settle()
        if self.tools.any:
            for call in open_calls(self._path.records):
                self._keep_end(call, WAS_REFUSED)

    def settle(self) -> None:
        """Ask about no call any more."""
        if isinstance(self.call, WaitingCall):
            self.call = None
            self._tell(CallSettled())

    # A call under way

    def returned(self, end: ToolResult | None, seconds: float) -> None:
        """Take what a call returned; None: its tool has changed since it was allowed."""
        running, self.call = self.call, None
        if not isinstance(running, RunningCall):
            return
        if end is None:
            self._path.remove(running.record)
            self._tell(Noted(f"{running.call.name} has changed. Look at the call once more."))
            return
        self._ended(running.record, end, seconds)
        leaf = self._path.leaf
        self.live = end is not WAS_STOPPED and leaf is not None and leaf.calls == (running.call,)

    def moved(self, records: Mapping[int, Record]) -> None:
        """Note that messages have other numbers now."""
        if isinstance(self.call, RunningCall):
            record = records.get(self.call.record.id, self.call.record)
            self.call = RunningCall(record, self.call.call)

    def stop(self) -> None:
        """End the call under way."""
        if self.running:
            self._tell(StopCall())

    def leave(self) -> None:
        """Keep the call under way as stopped: the program ends."""
        if isinstance(self.call, RunningCall):
            self._ended(self.call.record, WAS_STOPPED, 0.0)
            self.call = None

    def _run(self, call: ToolCall, tool: OfferedTool) -> None:
        self.call = RunningCall(self._begin(call), call)
        self._tell(RunCall(call, tool))

    def _keep_end(self, call: ToolCall, end: ToolResult) -> None:
        """Keep how a call ends that does not run."""
        self._ended(self._begin(call), end, 0.0)

    def _begin(self, call: ToolCall) -> Record:
        path = self._path
        record = path.keeping.begin_call(path.conversation, path.records[-1].id, call)
        path.append(record)
        self._tell(CallBegun(record))
        return record

    def _ended(self, record: Record, end: ToolResult, seconds: float) -> None:
        ended = self._path.keeping.returned(record, end, seconds)
        self._path.replace(ended)
        self._tell(CallEnded(ended))
