"""What the engine does, on the banner, the status line and the panel."""

from assistant.events import Decoded, Loading, Origin, Prefilled, Ready
from assistant.request import COMPUTING
from tui.chat.layout import ChatLayout
from tui.chat.status import Activity
from tui.settings.settings import Settings
from tui.widgets.token_styles import kind

FIGURES_EVERY = 0.5
"""Seconds."""


class EngineDisplay:
    """Show models and figures; a round's figures no more often than one can read them."""

    def __init__(self, parts: ChatLayout) -> None:
        self._parts = parts
        self._figures: Decoded | None = None  # to be shown

    def looking(self) -> None:
        """Say that models are being looked for."""
        self._parts.status.show(loaded=False, activity=Activity("looking for the models", 0.0))

    def loading(self, event: Loading) -> None:
        """Show how much of a model is loaded."""
        verb = "loading" if event.fraction < 1 else "preparing"
        text = f"{verb} the {event.role} {event.name}"
        self._parts.status.show(activity=Activity(text, event.fraction))

    def ready(self, ready: Ready, settings: Settings) -> None:
        """Name the models that are loaded."""
        parts, n_ctx = self._parts, ready.target.n_ctx
        tables = [source for source in settings.draft_sources if source not in COMPUTING]
        drafting = ready.draft is not None or (ready.rolls_back and bool(tables))
        parts.banner.ready(ready)
        parts.panel.ready(ready)
        parts.status.show(loaded=True, activity=None, drafting=drafting, n_ctx=n_ctx, last=None)
        parts.prompt.room = n_ctx
        parts.prompt.attached.recount()

    def no_model(self) -> None:
        """Say that there is no model."""
        self._parts.status.show(loaded=False, activity=None)
        self._parts.banner.show("no model")

    def reading(self, event: Prefilled) -> None:
        """Show how much of a prompt has been read."""
        who = "reading the prompt" if event.role == "target" else "the draft reads along"
        text = f"{who}: {event.done:,} of {event.total:,} tokens"
        fraction = event.done / event.total if event.total else 1.0
        self._parts.status.show(activity=Activity(text, fraction))

    def decoded(self, event: Decoded) -> None:
        """Take the figures of a round."""
        if self._figures is None:
            self._parts.set_timer(FIGURES_EVERY, self._show_figures)
        self._figures = event
        self._parts.panel.take(event)
        if guessed := next((t for t in event.tokens if t.origin is Origin.DRAFT), None):
            self._parts.conversation.explain(kind(guessed))

    def over(self) -> None:
        """Show the figures of an answer that has ended."""
        self._show_figures()
        self._parts.status.show(activity=None, last=self._parts.panel.last)

    def clear(self) -> None:
        """Show no figures: another conversation is on the screen."""
        self._parts.status.show(last=None)
        self._parts.panel.clear()

    def _show_figures(self) -> None:
        event, self._figures = self._figures, None
        if event is not None:
            self._parts.status.show(activity=None, last=event)
            self._parts.panel.paint()
