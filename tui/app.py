"""The app: it owns the engine, the screens and the ways out."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from assistant.events import Event
from models.errors import ModelMissing, SpecchatError
from tui.locating import find_models
from tui.messages import EngineSaid, Located, NotLocated, ThreadDied
from tui.screens.chat import ChatScreen
from tui.screens.first_run import FirstRunScreen
from tui.screens.help import HelpScreen
from tui.settings import Settings
from tui.signals import signals_leave

if TYPE_CHECKING:
    from assistant.engine import Engine

EngineFactory = Callable[[Callable[[Event], None]], "Engine"]
PATIENCE = 3.0
"""Seconds within which Ctrl+C must be pressed again to quit."""


class SpecchatApp(App[None]):
    """A private assistant in the terminal."""

    TITLE = "specchat"
    CSS_PATH = "specchat.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f1", "help", "Help", id="app.help"),
        Binding("ctrl+q", "quit", "Quit", id="app.quit", priority=True),
        Binding("ctrl+c", "help_quit", show=False, system=True),
    ]

    def __init__(self, settings: Settings, engine: EngineFactory | None = None) -> None:
        super().__init__()
        self.settings = settings
        self.chat = ChatScreen(settings)
        self._new_engine = engine
        self._engine: Engine | None = None
        self._undo = ExitStack()
        self._asked_to_quit = -PATIENCE

    def get_default_screen(self) -> Screen[None]:
        """Begin with the chat."""
        return self.chat

    def on_mount(self) -> None:
        """Look for the models while the person already types."""
        self._undo.enter_context(signals_leave(self._leave))
        threading.excepthook = self._thread_died
        self._undo.callback(setattr, threading, "excepthook", threading.__excepthook__)
        self.look_for_models(self.settings)

    async def on_unmount(self) -> None:
        """Free the models, whatever the reason to go."""
        if self._engine is not None:
            await asyncio.to_thread(self._engine.close)
        self._undo.close()

    def _leave(self, number: int) -> None:
        self.exit(return_code=128 + number)

    def _thread_died(self, what: threading.ExceptHookArgs) -> None:
        if what.exc_value is not None:
            self.post_message(ThreadDied(what.exc_value))

    @on(ThreadDied)
    def crash(self, message: ThreadDied) -> None:
        """Fail here, where the terminal is restored and the traceback can be read."""
        raise message.error

    def look_for_models(self, settings: Settings) -> None:
        """Find the models and have them loaded."""
        self.chat.prepare()
        self._find(settings)

    @work(thread=True, group="models")
    def _find(self, settings: Settings) -> None:
        """Find the files and import llama.cpp, on a thread: both may take a second."""
        try:
            if self._new_engine is None:
                from assistant.engine import Engine

                self._new_engine = Engine
            self.post_message(Located(*find_models(settings)))
        except SpecchatError as error:
            self.post_message(NotLocated(str(error), isinstance(error, ModelMissing)))
        except (ImportError, OSError) as error:
            reason = f"llama.cpp cannot be loaded ({error}). Run `specchat doctor`."
            self.post_message(NotLocated(reason, missing=False))

    @on(Located)
    def load(self, message: Located) -> None:
        """Have the models loaded."""
        if self._engine is None and self._new_engine is not None:
            self._engine = self._new_engine(self._hear)
        if self._engine is not None:
            self.chat.load(self._engine, message.setup, message.no_draft)

    @on(NotLocated)
    def explain(self, message: NotLocated) -> None:
        """Say that there is no model, and offer to get one if that helps."""
        self.chat.no_model(message.reason)
        if message.missing:
            self.action_choose_model()

    @on(EngineSaid)
    def show(self, message: EngineSaid) -> None:
        """Pass on what the engine says."""
        self.chat.show(message.event)

    def _hear(self, event: Event) -> None:
        self.post_message(EngineSaid(event))  # called on the engine's thread

    @on(ChatScreen.ModelWanted)
    def action_choose_model(self) -> None:
        """Open the screen that fetches or chooses a model."""
        if not isinstance(self.screen, FirstRunScreen):
            screen = FirstRunScreen(self.settings.target, self.settings.offline)
            self.push_screen(screen, self._use_model)

    def _use_model(self, target: str | None) -> None:
        if target is None:
            self.chat.take_back()
        else:
            draft = self.settings.draft if target == self.settings.target else None
            self.settings = replace(self.settings, target=target, draft=draft)
            self.look_for_models(self.settings)

    def action_help(self) -> None:
        """Open the page of keys and words."""
        if isinstance(self.screen, ChatScreen):
            self.push_screen(HelpScreen())

    def action_help_quit(self) -> None:
        """Quit when pressed twice; some terminals swallow Ctrl+Q."""
        if monotonic() - self._asked_to_quit < PATIENCE:
            self.exit()
        else:
            self._asked_to_quit = monotonic()
            self.notify("Press Ctrl+C again to quit.", timeout=PATIENCE)
