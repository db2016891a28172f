"""Calls that answers ask for: asked about, run or refused, and kept with what they returned."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Literal

from assistant.request import Tool, ToolCall
from assistant.session import messages
from assistant.session.events import (
    Added,
    CallSettled,
    CallWaits,
    Changed,
    Noted,
    Tell,
    ToolsStart,
)
from assistant.session.shown_path import ShownPath
from assistant.session.tool_set import ToolSet
from assistant.store.values import TOOLS_OF, Record
from assistant.tools.values import OfferedTool, ToolResult
from models.errors import StorageError

Decision = Literal["once", "conversation", "always", "refuse"]


class Calling:
    """Have the calls at the end of the path decided and run, one after another.

    Arguments are as for `Talk`.
    """

    def __init__(self, tell: Tell, path: ShownPath, tools: ToolSet, goes_on: bool) -> None:
        self._tell, self._path, self.tools, self._goes_on = tell, path, tools, goes_on
        self.asked: CallWaits | None = None
        """The call that the user is asked about."""
        self.running: Record | None = None
        """The message that the result of the call under way will be."""
        self.live = False
        """Whether the path ends with something that has just ended by itself. Nothing runs unasked
        at the end of a path that was only opened, or after something was stopped.
        """
        self._decided: asyncio.Future[Decision | None] | None = None
        self._work: asyncio.Future[ToolResult | None] | None = None
        self._agreed: int | None = None  # the message after which the user has let it go on

    @property
    def wanted(self) -> bool:
        """Whether the conversation has tools; without being asked, if it has called some."""
        has_called = any(record.calls for record in self._path.records)
        return self.tools.wanted(self._path.conversation, has_called)

    @property
    def next(self) -> ToolCall | None:
        """The first call at the end of the path that has no result yet."""
        calls = messages.open_calls(self._path.records) if self.wanted and not self.running else ()
        return calls[0] if calls else None

    @property
    def in_words(self) -> bool:
        """Whether the model must not ask for tools again: it has too often, or repeats itself."""
        answers = messages.calls_since_question(self._path.records)
        bounded = self._goes_on and self.wanted
        is_over = bounded and len(answers) >= self.tools.settings.rounds
        return is_over or messages.repeats_earlier_calls(answers)

    def want_answer(self) -> bool:
        """Say whether results are to be answered now; if there were too many, tell the user."""
        leaf, limit = self._path.leaf, self.tools.settings.rounds
        if not (self.live and self.wanted and leaf and leaf.role == "tool"):
            return False
        answers = messages.calls_since_question(self._path.records, self._agreed)
        if self._goes_on or len(answers) < limit:
            return True
        self.live = False
        times = "once" if limit == 1 else f"{limit} times"
        hint = "Press n on the last result to let it continue."
        self._tell(Noted(f"The model has asked for tools {times}. {hint}"))
        return False

    def grant(self) -> None:
        """Let the model ask for tools as often again as at first."""
        self._agreed = self._path.end

    async def learn(self) -> None:
        """Learn which tools there are now, and say which servers fail."""
        if not self.wanted:
            return
        self._tell(ToolsStart(over=False))
        try:
            await self.tools.learn()
        finally:
            self._tell(ToolsStart(over=True))
        for problem in self.tools.new_problems():
            self._tell(Noted(problem))

    # What the user decides

    def turn(self, on: bool) -> None:
        """Let the conversation have tools, or none any more; that is kept with it."""
        number, store = self._path.conversation, self._path.store
        self.tools.on[number] = on
        if number is not None and store is not None:
            with suppress(StorageError):
                store.remember(f"{TOOLS_OF}{number}", "on" if on else "off")

    def recall(self) -> None:
        """Let a conversation that was opened have tools if it had them."""
        number, store = self._path.conversation, self._path.store
        if self.tools.asked_for and store is not None and number not in self.tools.on:
            with suppress(StorageError):
                if kept := store.recall(f"{TOOLS_OF}{number}"):
                    self.tools.on[number] = kept == "on"

    def adopt(self) -> None:
        """Let a conversation that was just begun have what was chosen before that."""
        if None in self.tools.on:
            self.turn(self.tools.on.pop(None))

    async def settle(self, call: ToolCall) -> None:
        """Run a call that may run, or ask about it, and run or refuse it; keep how it ended."""
        if not self.tools.known:
            await self.learn()
            return  # meanwhile something else may be on the screen
        conversation = self._path.conversation
        tool = self.tools.find(call.name)
        is_refused = messages.was_refused(self._path.records, call)
        again = messages.WAS_REFUSED_BEFORE if is_refused else None
        if self.live and (end := again if tool else messages.unknown(call.name)):
            self._end_unrun(call, end)
            return
        tool = tool or OfferedTool(Tool(call.name, "", "{}"), "", False, "")  # not offered any more
        if not (self.live and self.tools.approved(tool, conversation)):
            decision = await self._decision(CallWaits(call, tool, urgent=self.live))
            if decision is None or self.next != call:  # something else is on the screen
                return
            if decision == "refuse":
                self._end_unrun(call, messages.WAS_REFUSED)
                self.live = True
                return
        await self._run(call, tool)

    async def _decision(self, asked: CallWaits) -> Decision | None:
        self.asked, self._decided = asked, asyncio.get_running_loop().create_future()
        self._tell(asked)
        return await self._decided

    def decide(self, decision: Decision) -> None:
        """Run the call that is asked about, or refuse it; it may then run unasked later.

        Raises:
            StorageError: that it may run unasked cannot be kept; the call runs anyway.
        """
        asked, conversation = self.asked, self._path.conversation
        self.ask_no_more(decision)
        if asked and (decision == "always" or (decision == "conversation" and conversation)):
            self.tools.approvals.allow(asked.tool, decision, conversation or 0)

    def ask_no_more(self, decision: Decision | None = None) -> None:
        """Ask about no call any more."""
        if self.asked is not None and self._decided is not None:
            self.asked = None
            self._tell(CallSettled())
            self._decided.set_result(decision)

    def refuse(self) -> None:
        """Refuse what is not decided: the user goes on without it."""
        self.ask_no_more()
        for call in messages.open_calls(self._path.records) if self.wanted else ():
            self._end_unrun(call, messages.WAS_REFUSED)

    # A call under way

    async def _run(self, call: ToolCall, tool: OfferedTool) -> None:
        path, began = self._path, monotonic()
        self.running = self._begin(call)
        self._work = asyncio.ensure_future(self.tools.call(call, tool))
        self._tell(Added(self.running))
        try:
            end = await self._work
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) and task.cancelling():  # the program ends
                raise
            end = messages.WAS_STOPPED
        record, self.running = self.running, None
        if end is None:
            path.remove(record)
            self._tell(Noted(f"{call.name} has changed meanwhile. Look at the call again."))
            return
        self._end(record, end, monotonic() - began)
        self.live = end is not messages.WAS_STOPPED and path.end == record.id

    def moved(self, records: Mapping[int, Record]) -> None:
        """Note that messages have other numbers now."""
        if self.running is not None:
            self.running = records.get(self.running.id, self.running)

    def stop(self) -> None:
        """End the call under way."""
        if self.running is not None and self._work is not None:
            self._work.cancel()

    def leave(self) -> None:
        """Keep the call under way as stopped: the program ends."""
        if self.running is not None:
            self._end(self.running, messages.WAS_STOPPED, 0.0)

    def _begin(self, call: ToolCall) -> Record:
        path = self._path
        record = Record(0, path.end, "tool", "", time.time(), "streaming", calls=(call,))
        return path.append(record)

    def _end_unrun(self, call: ToolCall, end: ToolResult) -> None:
        record = self._begin(call)
        self._tell(Added(record))
        self._end(record, end, 0.0)

    def _end(self, record: Record, end: ToolResult, seconds: float) -> None:
        ended = replace(record, content=end.text, state=end.state, stop=end.stop, seconds=seconds)
        self._tell(Changed(self._path.end_message(ended)))
