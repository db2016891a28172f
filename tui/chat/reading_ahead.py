"""Have the engine read while the user reads and types, so that nobody waits for it afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.timer import Timer

from assistant.events import AllRead, Event, Failed, Prefilled
from assistant.request import ReadAhead
from models.machine import is_on_battery
from tui.chat.status import Activity

if TYPE_CHECKING:
    from tui.app.program import Program
    from tui.chat.chat_controller import ChatController

PAUSE_S = 0.4
"""Seconds without a key after which typing has paused."""


class ReadingAhead:
    """Ask the engine to read what would be asked now, whenever that has changed."""

    def __init__(self, controller: ChatController, program: Program) -> None:
        self._controller, self._program = controller, program
        self._parts = controller.parts
        self._pause: Timer | None = None
        self._job: ReadAhead | None = None  # the last one, unless it was stopped

    def begin(self) -> None:
        """Read what is on the screen, attached and typed, once the user pauses."""
        if self._pause is not None:
            self._pause.stop()
        self._pause = self._parts.set_timer(PAUSE_S, self._begin)

    def _begin(self) -> None:
        chat = self._controller
        if chat.ready is None or not chat.talk.idle or not self._may:
            return
        prompt = self._parts.prompt
        request = chat.talk.next_request(prompt.text, prompt.attachments, chat.unsent.replaced)
        job = ReadAhead(request) if request else None
        if job is not None and job != self._job:
            self._job = job
            self._program.submit(job, self._show)

    @property
    def _may(self) -> bool:
        idle = self._controller.settings.idle
        return idle == "on" or (idle == "auto" and not is_on_battery())

    def _show(self, event: Event) -> None:
        match event:
            case Prefilled(_, done, total):
                self._parts.status.show(activity=Activity("reading ahead", done / total))
            case AllRead():
                self._parts.status.show(activity=None)
            case Failed():  # as another job came; it shows its own progress
                self._job = None
                if self._controller.talk.idle:
                    self._parts.status.show(activity=None)
