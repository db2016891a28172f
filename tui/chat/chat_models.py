"""What the engine does for a chat beside its answers: it loads models, counts, and reads ahead."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from textual.timer import Timer

from assistant.events import (
    Event,
    Failed,
    Loading,
    PrefillDone,
    Prefilled,
    Ready,
    TokenCount,
    Warned,
)
from assistant.request import COPYING, CountTokens, EngineArgs, Prefill
from assistant.session.events import SessionEvent
from models.errors import SpecchatError
from tui.chat.conversation.welcome import SUGGESTIONS
from tui.chat.status import Activity
from tui.outlook import larger, refused

if TYPE_CHECKING:
    from assistant.session.unsent_text import UnsentText
    from assistant.settings.settings import Settings
    from tui.app.program import Program
    from tui.chat.talk_view import TalkView

SUGGESTED = "suggested"
"""The name of the note that says whether a larger model was suggested."""
PAUSE_S = 0.4
"""Seconds without a key after which typing has paused."""


class ChatModels:
    """Have models loaded, or say why there are none; have them read what will be asked.

    `take` is told how far they are loaded, and that they are.
    """

    def __init__(
        self,
        view: TalkView,
        unsent: UnsentText,
        program: Program,
        settings: Callable[[], Settings],
        take: Callable[[SessionEvent], None],
    ) -> None:
        self._view, self._parts, self._session = view, view.parts, view.session
        self._unsent, self._program, self._settings, self._take = unsent, program, settings, take
        self.setup: EngineArgs | None = None
        """The models that answer, once they are found."""
        self.ready: Ready | None = None
        """The models that answer, once they are loaded."""
        self._no_draft: str | None = None  # why there is none, if that was known before loading
        self.may_suggest = False
        """Whether a larger model may be suggested, which is done once."""
        self._pause: Timer | None = None
        self._reads: Prefill | None = None  # the last job, unless it was stopped

    # Loading

    @property
    def is_wanted(self) -> bool:
        """Whether a prompt waits that no model will ever answer."""
        return (
            self._session.waits and not self._session.requests.expects_model and self.ready is None
        )

    def prepare(self) -> None:
        """Note that models are being looked for."""
        self.ready = None
        self._session.requests.expect_model()
        self._parts.status.show(loaded=False, activity=Activity("looking for the models", 0.0))

    def load(self, setup: EngineArgs, no_draft: str | None) -> None:
        """Have models loaded instead of an answer; what waits is answered afterwards."""
        self.setup, self._no_draft = setup, no_draft
        if self._session.requests.stream is not None:
            self._session.requests.stream.cancel()
        self._program.submit(setup, self._loading)

    def none(self, reason: str) -> None:
        """Say why nothing can be answered, and give back the waiting prompt."""
        self.ready = None
        self._parts.status.show(loaded=False, activity=None)
        self._parts.banner.show("no model")
        self._session.no_model(reason)

    def _loading(self, event: Event) -> None:
        match event:
            case Warned():
                self._view.show(event)
            case Failed(message):
                self.none(message)
            case Loading() | Ready():
                self._take(event)

    def be_ready(self, ready: Ready) -> None:
        """Have loaded models answer, and show which they are."""
        parts, settings, n_ctx = self._parts, self._settings(), ready.target.n_ctx
        no_draft = None if ready.draft else self._no_draft or ready.no_draft
        copies = ready.rolls_back and bool(COPYING & {*settings.draft_sources})
        drafting = ready.draft is not None or copies
        self.ready, parts.panel.no_draft = ready, no_draft
        parts.banner.ready(ready)
        parts.panel.ready(ready)
        parts.status.show(loaded=True, activity=None, drafting=drafting, n_ctx=n_ctx, last=None)
        parts.prompt.room = n_ctx
        parts.prompt.attached.recount()
        if no_draft:
            parts.conversation.note(refused(no_draft, ready, settings), "warning")
        self._session.ready(ready.target)

    def suggest(self) -> None:
        """Say, below an answer, which larger model would run well here."""
        if not self._settings().offline:
            self.may_suggest = False
            self._program.run_worker(self._say_larger, thread=True)

    def _say_larger(self) -> None:
        store, ready, settings = self._session.branch.store, self.ready, self._settings()
        with suppress(SpecchatError, OSError, RuntimeError):  # the program may have ended
            if store and ready and (text := larger(ready.target.path, settings)):
                self._program.call_from_thread(self._view.show, Warned(text))
                store.remember(SUGGESTED, "1")

    # Counting

    def count(self, count: CountTokens) -> None:
        """Have the tokens of a text counted, once a model can."""
        if self.ready is not None:
            self._program.submit(count, self._counted)

    def _counted(self, event: Event) -> None:
        if isinstance(event, TokenCount):
            self._parts.prompt.attached.counted(event.label, event.tokens)

    # Reading while the user reads and types, so that nobody waits for it afterwards

    def read_folders(self) -> None:
        """Bring the indexes of the folders that questions are about up to date, now and then."""
        folders = self._session.folders
        if folders and (stale := folders.stale(self._parts.prompt.attachments)):
            self._program.begin(folders.read(stale))

    def read_ahead(self) -> None:
        """Have read what is on the screen, attached and typed, once the user pauses."""
        if self._pause is not None:
            self._pause.stop()
        self._pause = self._parts.set_timer(PAUSE_S, self._read)

    async def _read(self) -> None:
        job = await self._next()
        if job is not None and job != self._reads:
            self._reads = job
            self._program.submit(job, self._reading)

    async def _next(self) -> Prefill | None:
        """Return what to read; None while something else is to be done."""
        session, prompt, ready = self._session, self._parts.prompt, self.ready
        if ready is None or not session.idle or not self._settings().may_read_ahead:
            return None
        path, attached = session.branch.records, prompt.attachments
        is_new = not (path or attached)
        text = prompt.text or (SUGGESTIONS[0].text if is_new else "")  # the likeliest, if any is
        if text and session.folders:
            attached += (await session.folders.find(text, attached, path, ready.target))[0]
        request = session.requests.next(text, attached, self._unsent.replaced)
        return Prefill(request) if request and session.idle else None

    def _reading(self, event: Event) -> None:
        match event:
            case Prefilled(_, done, total):
                self._parts.status.show(activity=Activity("reading ahead", done / total))
            case PrefillDone():
                self._parts.status.show(activity=None)
            case Failed():  # another job came, which shows its own progress from here on
                self._reads = None
                self._parts.status.show(activity=None)
