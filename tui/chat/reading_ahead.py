"""What is read while the user reads and types, so that nobody waits for it afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.timer import Timer

from assistant.events import AllRead, Event, Failed, Prefilled
from assistant.request import ReadAhead
from tui.chat.conversation.welcome import SUGGESTIONS
from tui.chat.status import Activity

if TYPE_CHECKING:
    from assistant.settings.settings import Settings
    from assistant.talk.talk import Talk
    from assistant.talk.unsent_text import UnsentText
    from tui.app.program import Program
    from tui.chat.chat_models import ChatModels
    from tui.chat.layout import ChatLayout

PAUSE_S = 0.4
"""Seconds without a key after which typing has paused."""


class ReadingAhead:
    """Ask the engine to read what would be asked now, whenever that has changed."""

    def __init__(
        self,
        parts: ChatLayout,
        talk: Talk,
        unsent: UnsentText,
        models: ChatModels,
        program: Program,
        settings: Callable[[], Settings],
    ) -> None:
        self._parts, self._talk, self._unsent, self._models = parts, talk, unsent, models
        self._program, self._settings = program, settings
        self._pause: Timer | None = None
        self._job: ReadAhead | None = None  # the last one, unless it was stopped

    def read_folders(self) -> None:
        """Bring the indexes of the folders that questions are about up to date, now and then."""
        folders = self._talk.folders
        if folders and (stale := folders.stale(self._parts.prompt.attachments)):
            self._program.begin(folders.read(stale))

    def begin(self) -> None:
        """Read what is on the screen, attached and typed, once the user pauses."""
        if self._pause is not None:
            self._pause.stop()
        self._pause = self._parts.set_timer(PAUSE_S, self._begin)

    async def _begin(self) -> None:
        job = await self._next()
        if job is not None and job != self._job:
            self._job = job
            self._program.submit(job, self._show)

    async def _next(self) -> ReadAhead | None:
        """Return what to read; None while something else is to be done."""
        talk, prompt, ready = self._talk, self._parts.prompt, self._models.ready
        if ready is None or not talk.idle or not self._settings().may_read_ahead:
            return None
        path, attached = talk.path.records, prompt.attachments
        is_new = not (path or attached)
        text = prompt.text or (SUGGESTIONS[0].text if is_new else "")  # the likeliest, if any is
        if text and talk.folders:
            attached += (await talk.folders.find(text, attached, path, ready.target))[0]
        request = talk.asking.next(text, attached, self._unsent.replaced)
        return ReadAhead(request) if request and talk.idle else None

    def _show(self, event: Event) -> None:
        match event:
            case Prefilled(_, done, total):
                self._parts.status.show(activity=Activity("reading ahead", done / total))
            case AllRead():
                self._parts.status.show(activity=None)
            case Failed():  # another job came, which shows its own progress from here on
                self._job = None
                self._parts.status.show(activity=None)
