"""Calls that answers ask for: asked about, run or refused, and kept with what they returned."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Literal

from assistant.events import Warned
from assistant.request import Tool, ToolCall
from assistant.session import messages
from assistant.session.active_branch import ActiveBranch
from assistant.session.events import (
    Added,
    ApprovalClosed,
    ApprovalRequested,
    Changed,
    Emit,
    ToolsStarting,
)
from assistant.store.values import TOOLS_OF, StoredMessage
from assistant.tools.toolbox import ToolSet
from assistant.tools.values import OfferedTool, ToolResult, unknown_tool
from models.errors import StorageError

Decision = Literal["once", "conversation", "always", "refuse"]


class ToolLoop:
    """Have the calls at the end of the path decided and run, one after another.

    Arguments are as for `ChatSession`.
    """

    def __init__(self, emit: Emit, branch: ActiveBranch, tools: ToolSet, goes_on: bool) -> None:
        self._emit, self._branch, self.tools, self._goes_on = emit, branch, tools, goes_on
        self.pending: ApprovalRequested | None = None
        """The call that the user is asked about."""
        self.running: StoredMessage | None = None
        """The message that the result of the call under way will be."""
        self.may_auto_run = False
        """Whether the path ends with something that has just ended by itself. Nothing runs unasked
        at the end of a path that was only opened, or after something was stopped.
        """
        self._decided: asyncio.Future[Decision | None] | None = None
        self._work: asyncio.Future[ToolResult | None] | None = None
        self._agreed: int | None = None  # the message after which the user has let it go on

    @property
    def enabled(self) -> bool:
        """Whether the conversation has tools; without being asked, if it has called some."""
        has_called = any(record.tool_calls for record in self._branch.records)
        return self.tools.is_enabled(self._branch.conversation, has_called)

    @property
    def next_call(self) -> ToolCall | None:
        """The first call at the end of the path that has no result yet."""
        tool_calls = (
            messages.open_calls(self._branch.records) if self.enabled and not self.running else ()
        )
        return tool_calls[0] if tool_calls else None

    @property
    def is_exhausted(self) -> bool:
        """Whether the model must not ask for tools again: it has too often, or repeats itself."""
        answers = messages.calls_since_question(self._branch.records)
        bounded = self._goes_on and self.enabled
        is_over = bounded and len(answers) >= self.tools.settings.rounds
        return is_over or messages.repeats_earlier_calls(answers)

    def should_answer(self) -> bool:
        """Say whether results are to be answered now; if there were too many, tell the user."""
        leaf, limit = self._branch.leaf, self.tools.settings.rounds
        if not (self.may_auto_run and self.enabled and leaf and leaf.role == "tool"):
            return False
        answers = messages.calls_since_question(self._branch.records, self._agreed)
        if self._goes_on or len(answers) < limit:
            return True
        self.may_auto_run = False
        times = "once" if limit == 1 else f"{limit} times"
        hint = "Press n on the last result to let it continue."
        self._emit(Warned(f"The model has asked for tools {times}. {hint}"))
        return False

    def reset_rounds(self) -> None:
        """Let the model ask for tools as often again as at first."""
        self._agreed = self._branch.end

    async def refresh_tools(self) -> None:
        """Learn which tools there are now, and say which servers fail."""
        if not self.enabled:
            return
        self._emit(ToolsStarting(over=False))
        try:
            await self.tools.refresh()
        finally:
            self._emit(ToolsStarting(over=True))
        for failure in self.tools.new_failures():
            self._emit(Warned(failure))

    # What the user decides

    def set_enabled(self, on: bool) -> None:
        """Let the conversation have tools, or none any more; that is kept with it."""
        number, store = self._branch.conversation, self._branch.store
        self.tools.enabled[number] = on
        if number is not None and store is not None:
            with suppress(StorageError):
                store.remember(f"{TOOLS_OF}{number}", "on" if on else "off")

    def restore_setting(self) -> None:
        """Let a conversation that was opened have tools if it had them."""
        number, store = self._branch.conversation, self._branch.store
        if self.tools.opt_in and store is not None and number not in self.tools.enabled:
            with suppress(StorageError):
                if kept := store.recall(f"{TOOLS_OF}{number}"):
                    self.tools.enabled[number] = kept == "on"

    def apply_pending_setting(self) -> None:
        """Let a conversation that was just begun have what was chosen before that."""
        if None in self.tools.enabled:
            self.set_enabled(self.tools.enabled.pop(None))

    async def process_call(self, call: ToolCall) -> None:
        """Run a call that may run, or ask about it, and run or refuse it; keep how it ended."""
        if not self.tools.is_listed:
            await self.refresh_tools()
            return  # meanwhile something else may be on the screen
        conversation = self._branch.conversation
        tool = self.tools.find(call.name)
        is_refused = messages.was_refused(self._branch.records, call)
        again = messages.WAS_REFUSED_BEFORE if is_refused else None
        if self.may_auto_run and (end := again if tool else unknown_tool(call.name)):
            self._end_unrun(call, end)
            return
        tool = tool or OfferedTool(Tool(call.name, "", "{}"), "", False, "")  # not offered any more
        if not (self.may_auto_run and self.tools.approved(tool, conversation)):
            decision = await self._decision(ApprovalRequested(call, tool, urgent=self.may_auto_run))
            if decision is None or self.next_call != call:  # something else is on the screen
                return
            if decision == "refuse":
                self._end_unrun(call, messages.WAS_REFUSED)
                self.may_auto_run = True
                return
        await self._run(call, tool)

    async def _decision(self, asked: ApprovalRequested) -> Decision | None:
        self.pending, self._decided = asked, asyncio.get_running_loop().create_future()
        self._emit(asked)
        return await self._decided

    def resolve_approval(self, decision: Decision) -> None:
        """Run the call that is asked about, or refuse it; it may then run unasked later.

        Raises:
            StorageError: that it may run unasked cannot be kept; the call runs anyway.
        """
        asked, conversation = self.pending, self._branch.conversation
        self.close_approval(decision)
        if asked and (decision == "always" or (decision == "conversation" and conversation)):
            self.tools.approvals.allow(asked.tool, decision, conversation or 0)

    def close_approval(self, decision: Decision | None = None) -> None:
        """Ask about no call any more."""
        if self.pending is not None and self._decided is not None:
            self.pending = None
            self._emit(ApprovalClosed())
            self._decided.set_result(decision)

    def refuse_open_calls(self) -> None:
        """Refuse what is not decided: the user goes on without it."""
        self.close_approval()
        for call in messages.open_calls(self._branch.records) if self.enabled else ():
            self._end_unrun(call, messages.WAS_REFUSED)

    # A call under way

    async def _run(self, call: ToolCall, tool: OfferedTool) -> None:
        branch, began = self._branch, monotonic()
        self.running = self._begin(call)
        self._work = asyncio.ensure_future(self.tools.call(call, tool))
        self._emit(Added(self.running))
        try:
            end = await self._work
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) and task.cancelling():  # the program ends
                raise
            end = messages.WAS_STOPPED
        record, self.running = self.running, None
        if end is None:
            branch.remove(record)
            self._emit(Warned(f"{call.name} has changed meanwhile. Look at the call again."))
            return
        self._end(record, end, monotonic() - began)
        self.may_auto_run = end is not messages.WAS_STOPPED and branch.end == record.id

    def moved(self, records: Mapping[int, StoredMessage]) -> None:
        """Note that messages have other numbers now."""
        if self.running is not None:
            self.running = records.get(self.running.id, self.running)

    def stop(self) -> None:
        """End the call under way."""
        if self.running is not None and self._work is not None:
            self._work.cancel()

    def shutdown(self) -> None:
        """Keep the call under way as stopped: the program ends."""
        if self.running is not None:
            self._end(self.running, messages.WAS_STOPPED, 0.0)

    def _begin(self, call: ToolCall) -> StoredMessage:
        return self._branch.append_empty("tool", tool_calls=(call,))

    def _end_unrun(self, call: ToolCall, end: ToolResult) -> None:
        record = self._begin(call)
        self._emit(Added(record))
        self._end(record, end, 0.0)

    def _end(self, record: StoredMessage, end: ToolResult, seconds: float) -> None:
        ended = replace(record, content=end.text, state=end.state, stop=end.stop, seconds=seconds)
        self._emit(Changed(self._branch.end_message(ended)))
