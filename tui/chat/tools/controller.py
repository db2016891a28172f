"""Rounds of tools: an answer asks for calls, the user allows them, what they return is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from textual.worker import Worker

from assistant.request import ToolCall
from models.errors import StorageError
from tui.chat.conversation_state import ConversationState
from tui.chat.layout import ChatLayout
from tui.chat.status import Activity
from tui.chat.tools.calls import (
    REFUSED,
    STOPPED,
    End,
    asked,
    open_calls,
    outcome,
    stranger,
    unknown,
)
from tui.chat.tools.result_turn import ResultTurn
from tui.chat.tools.tool_set import ToolSet
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.store import Record
    from assistant.tools.values import OfferedTool
    from tui.chat.tools.approval_turn import ApprovalTurn, Decision


class ToolCalls:
    """Have the calls of the last answer decided and run, one after another.

    What is to be done next follows from the path that is shown: a call without a result is asked
    about, and results without an answer are answered, as often as the settings allow.

    Args:
        proceed: called when something that was under way here is over.
        answer: has the results answered.
    """

    def __init__(
        self,
        parts: ChatLayout,
        state: ConversationState,
        choice: ToolSet,
        proceed: Callable[[], None],
        answer: Callable[[], None],
    ) -> None:
        self._parts, self._state, self.choice = parts, state, choice
        self._proceed, self._answer = proceed, answer
        self.live = False
        """Whether the path ends with something that has just ended by itself."""
        self._asked: ApprovalTurn | None = None
        self._running: Record | None = None  # the result to come
        self._worker: Worker[None] | None = None  # of the call under way
        self._stopped = False  # whether the user has ended it
        self._learning = self._learned = False
        self._granted = 0  # rounds that the user has agreed to
        self._told: set[str] = set()  # problems of servers
        state.shown = self._elsewhere

    @property
    def running(self) -> bool:
        """Whether a call is under way."""
        return self._worker is not None

    def known(self) -> bool:
        """Say whether the tools are known; if not, learn them and proceed then."""
        if not self.choice.any or self._learned:
            self._learned = False  # a question later there may be others
            self._offer()
            return True
        if not self._learning:
            self._learning = True
            self._parts.status.show(activity=Activity("starting the tools", 0.0))
            self._parts.run_worker(self._learn(self._proceed), group="tools")
        return False

    async def _learn(self, then: Callable[[], None]) -> None:
        try:
            await self.choice.learn()
        finally:
            self._learning, self._learned = False, True
        self._parts.status.show(activity=None)
        for report in self.choice.box.reports():
            if report.problem and report.problem not in self._told:
                self._told.add(report.problem)
                self._state.view.note(f"{report.name}: {report.problem}", "warning")
        then()

    def _offer(self) -> None:
        """Let requests have the tools of the conversation on the screen."""
        state = self._state
        if state.conversation is not None:
            self.choice.adopt(state.conversation)
        state.tools = self.choice.tools(state.conversation)

    # What is to be done next

    def go_on(self) -> None:
        """Do what follows from the path: an answer has ended, or a call has returned."""
        leaf, waiting = self._state.leaf, open_calls(self._state.records)
        if leaf is None or self._asked or self.running or self._state.busy:
            return
        tool = self._find(waiting[0]) if waiting else None
        if not waiting:
            if leaf.role == "tool" and self.live:
                self._answer_results()
        elif not self.live or (tool is not None and not self._is_approved(tool)):
            self._appear()
        elif tool is None:
            self._keep(waiting[0], unknown(waiting[0].name))
            self.go_on()
        else:
            self._run(waiting[0], tool)

    def _elsewhere(self) -> None:
        """Note that another path is shown: nothing at its end runs by itself."""
        self.live = False
        self._appear()

    def _appear(self) -> None:
        """Ask about the first call at the end of the path that has no result yet."""
        self._forget()
        waiting = open_calls(self._state.records)
        if not waiting or not self.choice.any or self.running or self._state.busy:
            return
        if not self.choice.known:
            self._parts.run_worker(self._learn(self._appear), group="tools")
            return
        from tui.chat.tools.approval_turn import ApprovalTurn

        tool = self._find(waiting[0]) or stranger(waiting[0])
        self._asked = turn = ApprovalTurn(waiting[0], tool)
        self._state.view.add(turn)
        prompt, screen = self._parts.prompt, self._parts.screen
        waits = screen.is_active and screen.focused is prompt.editor and not prompt.text
        if self.live and waits:
            turn.focus()
        else:  # a key that is pressed now means something else
            text = "A call waits to be allowed; Ctrl+Up goes there."
            self._parts.notify(text, timeout=6, markup=False)

    def look(self) -> None:
        """Go to the call that is asked about."""
        if self._asked is not None:
            self._asked.focus()

    def decide(self, turn: ApprovalTurn, decision: Decision) -> None:
        """Run a call, or refuse it, as the user decided."""
        if turn is not self._asked:
            return
        self._forget()
        self._parts.prompt.focus()
        if decision == "refuse":
            self._keep(turn.call, REFUSED)
            self.live = True
            self.go_on()
            return
        if decision != "once" and self._state.conversation is not None:
            try:
                self.choice.approvals.allow(turn.tool, decision, self._state.conversation)
            except StorageError as error:
                self._parts.notify(safe(str(error)), severity="warning", timeout=8, markup=False)
        self._run(turn.call, turn.tool)

    def refuse(self) -> None:
        """Refuse what is not decided: the user goes on without it."""
        self._forget()
        if self.choice.any:
            for call in open_calls(self._state.records):
                self._keep(call, REFUSED)

    def grant(self) -> None:
        """Go on after the last result, with as many rounds as at first."""
        self._granted = len(asked(self._state.records))
        if open_calls(self._state.records):
            self._appear()
        else:
            self._answer()

    def _answer_results(self) -> None:
        count, limit = len(asked(self._state.records)), self.choice.settings.rounds
        if count < self._granted:
            self._granted = 0
        if count - self._granted < limit:
            self._answer()
        else:
            times = "once" if limit == 1 else f"{limit} times"
            self._state.view.note(
                f"The model has asked for tools {times}. n on the last result goes on.", "warning"
            )

    def _find(self, call: ToolCall) -> OfferedTool | None:
        return self.choice.find(call.name, self._state.conversation)

    def _is_approved(self, tool: OfferedTool) -> bool:
        return self.choice.approved(tool, self._state.conversation) is not None

    def _forget(self) -> None:
        turn, self._asked = self._asked, None
        if turn is not None:
            turn.remove()

    def show_list(self) -> None:
        """Show the tools and their servers, or say how to get some."""
        if not self.choice.any:
            text = "There are no tools. config.toml names folders and servers, under [tools]."
            self._parts.notify(text, timeout=6, markup=False)
            return
        from tui.chat.tools.screen import ToolsScreen

        self._parts.app.push_screen(ToolsScreen(self.choice, self._state.conversation))

    # A call under way

    def _run(self, call: ToolCall, tool: OfferedTool) -> None:
        self._stopped = False
        self._worker = self._parts.run_worker(self._call(call, tool), group="tools")
        self._parts.refresh_bindings()

    async def _call(self, call: ToolCall, allowed: OfferedTool) -> None:
        began = monotonic()
        try:
            await self.choice.learn()  # it may have changed since it was allowed
            tool = self._find(call)
            if tool is not None and tool.fingerprint != allowed.fingerprint:
                self._worker = None
                self._state.note(f"{call.name} has changed. Look at the call once more.")
                self._appear()
                return
            if call not in open_calls(self._state.records):  # another path is shown by now
                self._worker = None
                self._proceed()
                return
            self._running = self._begin(call)
            end = outcome(await self.choice.box.call(call)) if tool else unknown(call.name)
        except asyncio.CancelledError:
            if not self._stopped:  # the program ends
                raise
            end = STOPPED
        self._end(end, monotonic() - began)
        leaf = self._state.leaf
        self._worker = None
        self.live = not self._stopped and leaf is not None and leaf.calls == (call,)
        self._proceed()

    def stop(self) -> None:
        """End the call under way."""
        if self._worker is not None:
            self._stopped = True
            self._worker.cancel()

    def leave(self) -> None:
        """Keep the call under way as stopped: the program ends."""
        self._end(STOPPED, 0.0)

    def _keep(self, call: ToolCall, end: End) -> None:
        """Keep and show the result of a call that does not run."""
        self._running = self._begin(call)
        self._end(end, 0.0)

    def _begin(self, call: ToolCall) -> Record:
        state = self._state
        record = state.stored(lambda: self._place(call))
        state.records = (*state.records, record)
        state.view.add(ResultTurn(record))
        return record

    def _place(self, call: ToolCall) -> Record:
        state = self._state
        assert state.conversation is not None, "a call follows an answer"
        return state.store.answers.call(state.conversation, state.records[-1].id, call)

    def _end(self, end: End, seconds: float) -> None:
        """Keep and show how a call ended."""
        state, running = self._state, self._running
        if running is None:
            return
        self._running = None

        def keep() -> Record:
            # The conversation may have moved to another store meanwhile.
            here = (each for each in state.records if each.calls == running.calls)
            place = next((each for each in here if each.state == "streaming"), running)
            return state.store.answers.returned(place.id, *end, seconds)

        try:
            record = state.stored(keep) if state.shows(running) else keep()
        except StorageError as error:
            state.lost(error)
            return
        state.records = tuple(record if each.id == record.id else each for each in state.records)
        for turn in state.view.query(ResultTurn):
            if turn.record is not None and turn.record.id == record.id:
                turn.record = record
        self._parts.refresh_bindings()
