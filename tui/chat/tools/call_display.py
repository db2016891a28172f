"""Calls in the chat: asked about, run, and shown with what they returned."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING

from textual.worker import Worker

from assistant.talk.calls import WAS_STOPPED
from assistant.talk.effects import (
    CallBegun,
    CallEnded,
    CallSettled,
    CallWaits,
    Effect,
    LearnTools,
    RunCall,
    StopCall,
)
from models.errors import StorageError
from tui.chat.layout import ChatLayout
from tui.chat.status import Activity
from tui.chat.tools.result_turn import ResultTurn
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.talk.talk import Talk
    from assistant.talk.tool_rounds import Decision
    from tui.chat.tools.approval_turn import ApprovalTurn


class CallDisplay:
    """Show the calls of a talk, have the user decide them, and run them."""

    def __init__(self, parts: ChatLayout, talk: Talk) -> None:
        self._parts, self._talk = parts, talk
        self._asked: ApprovalTurn | None = None
        self._running: Worker[None] | None = None
        self._stopped = False  # whether the user has ended the call

    def perform(self, effect: Effect) -> None:
        """Do what the talk says about calls."""
        match effect:
            case LearnTools():
                self._parts.run_worker(self._learn(), group="tools")
            case CallWaits():
                self._ask(effect)
            case CallSettled():
                self._forget()
            case CallBegun(record):
                self._parts.conversation.add(ResultTurn(record))
            case CallEnded(record):
                for turn in self._parts.conversation.query(ResultTurn):
                    if turn.record is not None and turn.record.id == record.id:
                        turn.record = record
                self._parts.refresh_bindings()
            case RunCall():
                self._stopped = False
                self._running = self._parts.run_worker(self._run(effect), group="tools")
                self._parts.refresh_bindings()
            case StopCall() if self._running is not None:
                self._stopped = True
                self._running.cancel()

    def decide(self, turn: ApprovalTurn, decision: Decision) -> None:
        """Have a call run, or refused, as the user decided."""
        if turn is not self._asked:
            return
        self._parts.prompt.focus()
        try:
            self._talk.decide(decision)
        except StorageError as error:
            self._parts.notify(safe(str(error)), severity="warning", timeout=8, markup=False)

    def look(self) -> None:
        """Go to the call that is asked about."""
        if self._asked is not None:
            self._asked.focus()

    def show_list(self) -> None:
        """Show the tools and their servers, or say how to get some."""
        tools = self._talk.rounds.tools
        if not tools.any:
            text = "There are no tools. config.toml names folders and servers, under [tools]."
            self._parts.notify(text, timeout=6, markup=False)
            return
        from tui.chat.tools.screen import ToolsScreen

        self._parts.app.push_screen(ToolsScreen(tools, self._talk.path.conversation))

    def _ask(self, waits: CallWaits) -> None:
        from tui.chat.tools.approval_turn import ApprovalTurn

        self._asked = turn = ApprovalTurn(waits.call, waits.tool)
        self._parts.conversation.add(turn)
        prompt, screen = self._parts.prompt, self._parts.screen
        free = screen.is_active and screen.focused is prompt.editor and not prompt.text
        if waits.urgent and free:
            turn.focus()
        else:  # a key that is pressed now means something else
            text = "A call waits to be allowed; Ctrl+Up goes there."
            self._parts.notify(text, timeout=6, markup=False)

    def _forget(self) -> None:
        turn, self._asked = self._asked, None
        if turn is not None:
            turn.remove()

    async def _learn(self) -> None:
        self._parts.status.show(activity=Activity("starting the tools", 0.0))
        try:
            await self._talk.rounds.tools.learn()
        finally:
            self._parts.status.show(activity=None)
            self._talk.tools_learned()

    async def _run(self, effect: RunCall) -> None:
        began, talk = monotonic(), self._talk
        try:
            end = await talk.rounds.tools.call(effect.call, effect.tool, talk.path.conversation)
        except asyncio.CancelledError:
            if not self._stopped:  # the program ends
                raise
            end = WAS_STOPPED
        self._running = None
        talk.returned(end, monotonic() - began)
        self._parts.refresh_bindings()
