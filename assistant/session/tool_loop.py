"""The tool calls of answers: approved, run or refused, and saved with their results."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Literal

from assistant.events import Warned
from assistant.request import Tool, ToolCall
from assistant.session import events, messages
from assistant.session.active_branch import ActiveBranch
from assistant.store.values import TOOLS_OF, StoredMessage
from assistant.tools.toolbox import ToolSet
from assistant.tools.values import OfferedTool, ToolResult, unknown_tool
from models.errors import StorageError

Decision = Literal["once", "conversation", "always", "refuse"]


class ToolLoop:
    """Run the tool calls at the end of the branch, one after another, once each is approved."""

    def __init__(
        self, emit: events.Emit, branch: ActiveBranch, tools: ToolSet, answers_at_limit: bool
    ) -> None:
        self._emit, self._branch, self.tools = emit, branch, tools
        self._answers_at_limit = answers_at_limit
        self.pending: events.ApprovalRequested | None = None
        """The approval that the user is asked for."""
        self.running: StoredMessage | None = None
        """The message that will hold the result of the call under way."""
        self.may_auto_run = False
        """Whether tool calls may run without confirmation: the end of the branch has just ended by
        itself, and was neither opened nor stopped.
        """
        self._decision: asyncio.Future[Decision | None] | None = None
        self._work: asyncio.Future[ToolResult | None] | None = None
        # Reads that the user allowed, each by its question, its tool as it was, and its call.
        self._allowed_reads: set[tuple[int | None, str, str, str]] = set()
        self._warned: set[str] = set()  # failures of servers
        self._rounds_since: int | None = None  # the message after which rounds are counted

    @property
    def enabled(self) -> bool:
        """Whether the conversation has tools; it has them if tools were called in it."""
        has_called = any(record.tool_calls for record in self._branch.records)
        default = has_called or not self.tools.opt_in
        is_on = self.tools.enabled.get(self._branch.conversation, default)
        return is_on and bool(self.tools.settings)

    @property
    def next_call(self) -> ToolCall | None:
        """The first call at the end of the branch that has no result yet."""
        if self.running or not self.enabled:
            return None
        return next(iter(messages.open_calls(self._branch.records)), None)

    @property
    def is_exhausted(self) -> bool:
        """Whether the model must not call tools again: it did too often, or repeats itself."""
        answers = messages.calls_since_question(self._branch.records)
        is_over = self._answers_at_limit and len(answers) >= self.tools.settings.rounds
        return is_over or messages.repeats_earlier_calls(answers)

    def should_answer(self) -> bool:
        """Return whether results are to be answered now; warn the user if there were too many."""
        leaf, limit = self._branch.leaf, self.tools.settings.rounds
        if not (self.may_auto_run and self.enabled and leaf and leaf.role == "tool"):
            return False
        answers = messages.calls_since_question(self._branch.records, self._rounds_since)
        if self._answers_at_limit or len(answers) < limit:
            return True
        self.may_auto_run = False
        times = "once" if limit == 1 else f"{limit} times"
        hint = "Press n on the last result to let it continue."
        self._emit(Warned(f"The model has asked for tools {times}. {hint}"))
        return False

    def reset_rounds(self) -> None:
        """Let the model call tools as often as after a question."""
        self._rounds_since = self._branch.end

    async def refresh_tools(self) -> None:
        """List the tools that there are now, and warn which servers fail."""
        if not self.enabled:
            return
        self._emit(events.Preparing("starting the tools", 0.0))
        try:
            await self.tools.refresh()
        finally:
            self._emit(events.Preparing("", None))
        for report in self.tools.reports():
            failure = f"Tool server {report.name}: {report.reason}"
            if report.reason and failure not in self._warned:
                self._warned.add(failure)
                self._emit(Warned(failure))

    # What the user decides

    def set_enabled(self, on: bool) -> None:
        """Turn the tools of the conversation on or off, and save that with it."""
        number, store = self._branch.conversation, self._branch.store
        self.tools.enabled[number] = on
        if number is not None and store is not None:
            with suppress(StorageError):
                store.remember(f"{TOOLS_OF}{number}", "on" if on else "off")

    def restore_setting(self) -> None:
        """Turn tools on or off as they were in a conversation that was opened."""
        number, store = self._branch.conversation, self._branch.store
        if self.tools.opt_in and store is not None and number not in self.tools.enabled:
            with suppress(StorageError):
                if setting := store.recall(f"{TOOLS_OF}{number}"):
                    self.tools.enabled[number] = setting == "on"

    def apply_pending_setting(self) -> None:
        """Give a new conversation the setting that was chosen before it had a number."""
        if None in self.tools.enabled:
            self.set_enabled(self.tools.enabled.pop(None))

    async def process_call(self, call: ToolCall) -> None:
        """Run a call that may run, or else have the user decide; save how it ended."""
        if not self.tools.is_listed:
            await self.refresh_tools()
            return  # meanwhile something else may be on the screen
        tool = self.tools.offered.get(call.name)
        is_useless = tool is None or messages.was_refused(self._branch.records, call)
        if self.may_auto_run and is_useless:
            self._end_unrun(call, messages.WAS_REFUSED_BEFORE if tool else unknown_tool(call.name))
            return
        tool = tool or OfferedTool(Tool(call.name, "", "{}"), "", False, "")  # not offered any more
        if not (self.may_auto_run and self._is_approved(call, tool)):
            self.pending = events.ApprovalRequested(call, tool, urgent=self.may_auto_run)
            self._decision = asyncio.get_running_loop().create_future()
            self._emit(self.pending)
            decision = await self._decision
            if decision is None or self.next_call != call:  # something else is on the screen
                return
            if decision == "refuse":
                self._end_unrun(call, messages.WAS_REFUSED)
                self.may_auto_run = True
                return
            self._allowed_reads.add(self._read(call, tool))
        await self._run(call, tool)

    def _is_approved(self, call: ToolCall, tool: OfferedTool) -> bool:
        """Return whether a tool is approved, or the user has allowed this read for the question."""
        if self.tools.approval(tool, self._branch.conversation):
            return True
        return tool.read_only and self._read(call, tool) in self._allowed_reads

    def _read(self, call: ToolCall, tool: OfferedTool) -> tuple[int | None, str, str, str]:
        records = reversed(self._branch.records)
        question = next((record.id for record in records if record.role == "user"), None)
        return question, tool.fingerprint, call.name, call.arguments

    def resolve_approval(self, decision: Decision) -> None:
        """Run or refuse the call that waits for approval; the tool may be approved for later.

        A `StorageError` says that the approval cannot be saved; the call runs anyway.
        """
        approval, conversation = self.pending, self._branch.conversation
        self.close_approval(decision)
        if approval and (decision == "always" or (decision == "conversation" and conversation)):
            self.tools.approvals.allow(approval.tool, decision, conversation)

    def close_approval(self, decision: Decision | None = None) -> None:
        """End the approval that the user was asked for, with no decision if none is given."""
        if self.pending is not None and self._decision is not None:
            self.pending = None
            self._emit(events.ApprovalClosed())
            self._decision.set_result(decision)

    def refuse_open_calls(self) -> None:
        """Refuse the calls without a result: the user continues without them."""
        self.close_approval()
        if self.enabled:
            for call in messages.open_calls(self._branch.records):
                self._end_unrun(call, messages.WAS_REFUSED)

    # A call under way

    async def _run(self, call: ToolCall, tool: OfferedTool) -> None:
        branch, began = self._branch, monotonic()
        self.running = branch.append_empty("tool", tool_calls=(call,))
        self._work = asyncio.ensure_future(self.tools.call(call, tool))
        self._emit(events.Added(self.running))
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

    def stop(self) -> None:
        """End the call under way."""
        if self.running is not None and self._work is not None:
            self._work.cancel()

    def shutdown(self) -> None:
        """Save the call under way as stopped: the program ends."""
        if self.running is not None:
            self._end(self.running, messages.WAS_STOPPED, 0.0)

    def _end_unrun(self, call: ToolCall, end: ToolResult) -> None:
        record = self._branch.append_empty("tool", tool_calls=(call,))
        self._emit(events.Added(record))
        self._end(record, end, 0.0)

    def _end(self, record: StoredMessage, end: ToolResult, seconds: float) -> None:
        ended = replace(record, content=end.text, state=end.state, stop=end.stop, seconds=seconds)
        self._emit(events.Changed(self._branch.update(ended)))
