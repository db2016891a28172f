"""The models of a chat: loaded, named, and what is to be said of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from assistant.events import Counted, Event, Failed, Loading, Noticed, Ready
from assistant.request import Count, Setup
from assistant.talk.events import Noted, TalkEvent
from models.errors import SpecchatError
from tui.chat.status import Activity
from tui.outlook import larger, refused

if TYPE_CHECKING:
    from assistant.settings.settings import Settings
    from assistant.talk.talk import Talk
    from tui.app.program import Program
    from tui.chat.layout import ChatLayout
    from tui.chat.talk_view import TalkView

SUGGESTED = "suggested"
"""The name of the note that says whether a larger model was suggested."""


class ChatModels:
    """Have models loaded, and say why there are none, or no draft.

    `take` is told how far they are loaded, and that they are.
    """

    def __init__(
        self,
        parts: ChatLayout,
        view: TalkView,
        talk: Talk,
        program: Program,
        settings: Callable[[], Settings],
        take: Callable[[TalkEvent], None],
    ) -> None:
        self._parts, self._view, self._talk, self._program = parts, view, talk, program
        self._settings, self._take = settings, take
        self.setup: Setup | None = None
        """The models that answer, once they are found."""
        self.ready: Ready | None = None
        """The models that answer, once they are loaded."""
        self._no_draft: str | None = None  # why there is none, if that was known before loading
        self.may_suggest = False
        """Whether a larger model may be suggested, which is done once."""

    @property
    def is_wanted(self) -> bool:
        """Whether a prompt waits that no model will ever answer."""
        return self._talk.waits and not self._talk.asking.expects_model and self.ready is None

    def prepare(self) -> None:
        """Note that models are being looked for."""
        self.ready = None
        self._talk.asking.expect_model()
        self._parts.status.show(loaded=False, activity=Activity("looking for the models", 0.0))

    def load(self, setup: Setup, no_draft: str | None) -> None:
        """Have models loaded instead of an answer; what waits is answered afterwards."""
        self.setup, self._no_draft = setup, no_draft
        if self._talk.asking.stream is not None:
            self._talk.asking.stream.cancel()
        self._program.submit(setup, self._loading)

    def none(self, reason: str) -> None:
        """Say why nothing can be answered, and give back the waiting prompt."""
        self.ready = None
        self._parts.status.show(loaded=False, activity=None)
        self._parts.banner.show("no model")
        self._talk.no_model(reason)

    def be_ready(self, ready: Ready) -> None:
        """Have loaded models answer."""
        no_draft = None if ready.draft else self._no_draft or ready.no_draft
        self.ready, self._parts.panel.no_draft = ready, no_draft
        self._view.show_models(ready, self._settings())
        if no_draft:
            self._parts.conversation.note(refused(no_draft, ready, self._settings()), "warning")
        self._talk.ready(ready.target)

    def count(self, count: Count) -> None:
        """Have the tokens of a text counted, once a model can."""
        if self.ready is not None:
            self._program.submit(count, self._counted)

    def suggest(self) -> None:
        """Say, below an answer, which larger model would run well here."""
        if not self._settings().offline:
            self.may_suggest = False
            self._program.run_worker(self._say_larger, thread=True)

    def _say_larger(self) -> None:
        store, ready, settings = self._talk.path.store, self.ready, self._settings()
        with suppress(SpecchatError, OSError, RuntimeError):  # the program may have ended
            if store and ready and (text := larger(ready.target.path, settings)):
                self._program.call_from_thread(self._view.show, Noted(text))
                store.remember(SUGGESTED, "1")

    def _loading(self, event: Event) -> None:
        match event:
            case Noticed(text):
                self._view.show(Noted(text))
            case Failed(message):
                self.none(message)
            case Loading() | Ready():
                self._take(event)

    def _counted(self, event: Event) -> None:
        if isinstance(event, Counted):
            self._parts.prompt.attached.counted(event.label, event.tokens)
