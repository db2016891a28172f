"""The bell: it calls a user who looks elsewhere."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from assistant.talk.events import Added, AnswerEnded, CallWaits, Changed, TalkEvent
from assistant.talk.talk import Talk

if TYPE_CHECKING:
    from tui.app.program import Program

LONG_S = 10.0
"""Seconds after which the end of an answer is worth a bell: others are waited for."""


class Bell:
    """Ring for a call that waits, and at the end of a long answer."""

    def __init__(self, program: Program, talk: Talk) -> None:
        self._program, self._talk = program, talk
        self._began = 0.0  # when the answer or the call under way did

    def hear(self, event: TalkEvent, may_ring: bool) -> None:
        """Take what the talk says, and ring if it is worth that."""
        match event:
            case Added(record) | Changed(record) if record.state == "streaming":
                self._began = monotonic()
            case CallWaits() if may_ring:
                self._program.ring("A tool call is waiting for you.")
            case AnswerEnded() if may_ring and self._talk.calls.next is None:
                if monotonic() - self._began > LONG_S:
                    self._program.ring("The answer is complete.")
