"""Calls in the chat: asked about, and shown with what they returned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assistant.talk.events import Added, CallSettled, CallWaits, Changed, TalkEvent, ToolsStart
from models.errors import StorageError
from tui.chat.layout import ChatLayout
from tui.chat.status import Activity
from tui.chat.tools.result_turn import ResultTurn
from tui.safe import safe

if TYPE_CHECKING:
    from assistant.talk.calling import Decision
    from assistant.talk.talk import Talk
    from tui.chat.tools.approval_turn import ApprovalTurn


class CallDisplay:
    """Show the calls of a talk, and have the user decide them."""

    def __init__(self, parts: ChatLayout, talk: Talk) -> None:
        self._parts, self._talk = parts, talk
        self._asked: ApprovalTurn | None = None
        self._is_wanted = False  # whether the user asked for the call that is asked about next

    def take(self, event: TalkEvent) -> None:
        """Show what the talk says about calls."""
        match event:
            case ToolsStart(over):
                activity = None if over else Activity("starting the tools", 0.0)
                self._parts.status.show(activity=activity)
            case CallWaits():
                self._ask(event)
            case CallSettled():
                if self._asked is not None:
                    self._asked.remove()
                self._asked = None
            case Added(record):
                self._parts.conversation.add(ResultTurn(record))
            case Changed(record):
                for turn in self._parts.conversation.query(ResultTurn):
                    if turn.record is not None and turn.record.id == record.id:
                        turn.record = record

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
        """Go to the call that is about to be asked about."""
        self._is_wanted = True

    def show_list(self) -> None:
        """Show the tools and their servers, or say how to get some."""
        tools = self._talk.calls.tools
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
        if self._is_wanted or (waits.urgent and free):
            turn.focus()
        else:  # a key that is pressed now means something else
            text = "A call waits to be allowed; Ctrl+Up goes there."
            self._parts.notify(text, timeout=6, markup=False)
        self._is_wanted = False
