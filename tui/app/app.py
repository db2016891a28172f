"""The app of the chat: its settings, store, models and screens."""

import asyncio
import gc
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import events, work
from textual.app import SystemCommand
from textual.screen import Screen
from textual.theme import Theme

from assistant.settings.config_file import read
from assistant.settings.layers import Layers, with_models, write_choices
from assistant.settings.settings import DEFAULT, THEMES, Settings, SettingSource
from models.errors import ModelMissing, SpecchatError, StorageError, UsageError
from tui.app.program import Program
from tui.app.signals import hang_up_if_gone
from tui.chat.screen import ChatScreen
from tui.shell.standard_output import announce

if TYPE_CHECKING:
    from assistant.store.store import Store

MODEL_SETTINGS = ("target", "draft", "n_ctx", "threads", "gpu_layers", "engine", "folders")
"""The settings that the loaded models depend on."""


class SpecchatApp(Program):
    """A private assistant in the terminal."""

    TITLE = "specchat"

    def __init__(self, settings: Settings, layers: Layers | None = None) -> None:
        """Start with the settings in force and their layers."""
        super().__init__()
        self.layers = layers or Layers()
        self.chat = ChatScreen(settings, self)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.chat.controller.settings

    def get_default_screen(self) -> Screen[None]:
        """Return the chat."""
        return self.chat

    def on_mount(self) -> None:
        """Open the store and find the models after the first frame, while the user types."""
        threading.excepthook = self._thread_died
        self._cleanup.callback(setattr, threading, "excepthook", threading.__excepthook__)
        self.theme = self.settings.theme
        self.theme_changed_signal.subscribe(self, self._save_theme)
        self.warn_of_config(self.settings.warnings)
        self.chat.controller.expect_models()
        self.call_after_refresh(self._start)

    def _start(self) -> None:
        # Objects made at the start live until the end: collecting them repeatedly costs frames.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        self._open_store()
        self.look_for_models()

    async def on_unmount(self) -> None:
        """Save the conversation and free the models."""
        close_tools = self.chat.session.tool_loop.tools.close
        await asyncio.gather(self.chat.autosave.shutdown(), self.close_engine(), close_tools())

    async def on_event(self, event: events.Event) -> None:
        """Let the chat move the focus for typed text before a widget gets the key."""
        is_new = self._buffered is None and not event.is_forwarded and self.chat.is_active
        if is_new and isinstance(event, events.Key | events.Paste):
            self.chat.route_typing(event)
        await super().on_event(event)

    def _thread_died(self, args: threading.ExceptHookArgs) -> None:
        """Raise the error of a thread in the event loop, which restores the terminal."""

        def crash(error: BaseException) -> None:
            raise error

        if args.exc_value is not None and not hang_up_if_gone():
            self.call_later(crash, args.exc_value)

    @work(thread=True, group="store")
    def _open_store(self) -> None:
        from assistant.store.files import database_path
        from assistant.store.store import Store

        failed = None
        try:
            store = Store(database_path() if self.settings.save else None, announce)
        except StorageError as error:
            store, failed = Store(None), error
        with suppress(StorageError):  # a damaged file is reported at the next start
            store.back_up()  # before the first write, which would have to wait
        self.call_later(self.use_store, store, failed)

    def use_store(self, store: "Store", failed: StorageError | None = None) -> None:
        """Save conversations from now on, or say why they are not saved."""
        if not self.chat.is_attached:  # the program has ended
            store.close()
            return
        if failed is not None:
            self.chat.banner.not_saved(failed)
        self.chat.autosave.start(store)

    def look_for_models(self) -> None:
        """Find the models, and load them."""
        self.chat.controller.expect_models()
        self._find_models()

    @work(exclusive=True, group="models")
    async def _find_models(self) -> None:
        """Find and check the files on a thread, then load them; without any, offer downloads."""
        try:
            setup, no_draft = await asyncio.to_thread(self.settings.setup)
        except SpecchatError as error:
            missing = isinstance(error, ModelMissing)
            is_typing = bool(self.chat.prompt.text)  # the next keys are meant for the prompt
            hint = "\nF5 lists the models and fetches more." if missing else ""
            self.chat.controller.show_missing(f"{error}{hint}")
            if missing and not is_typing:
                self.action_choose_model()
        else:
            self.chat.controller.load_models(setup, no_draft)

    def action_choose_model(self) -> None:
        """Open the screen of models."""
        from tui.models.screen import ModelsScreen

        if isinstance(self.screen, ChatScreen):
            ready, loading = self.chat.controller.ready, self.chat.session.requests.expects_model
            models = ModelsScreen(self.settings, ready, loading=loading)
            self.push_screen(models, self._use_models)

    def _use_models(self, choice: tuple[str, str | None] | None) -> None:
        if choice is None:
            if self.chat.controller.needs_model:
                self.chat.session.withdraw()
        else:
            before = self.settings
            self.chat.controller.apply(replace(before, target=choice[0], draft=choice[1]))
            self.look_for_models()
            if not before.sources.get("target", DEFAULT).is_for_this_run:
                self._save_choices(with_models(self.layers, before.target, *choice))

    def _save_choices(self, layers: Layers) -> None:
        before, self.layers = self.layers, layers
        try:
            write_choices(layers.choices, before.choices)
        except StorageError as error:
            text = f"{error} What you choose applies until you quit."
            self.notify(text, title="Not kept", severity="warning")

    def _save_theme(self, _: Theme) -> None:
        """Save a theme that was chosen in the palette."""
        if self.theme != self.settings.theme and self.theme in THEMES:
            self._use_layers(self.layers.choose(theme=self.theme))

    def action_settings(self) -> None:
        """Open the settings."""
        from tui.settings.screen import SettingsScreen

        if isinstance(self.screen, ChatScreen):
            if self.settings.mode != self.layers.in_force["mode"][0]:
                mode = self.settings.mode, SettingSource("option", "Ctrl+T")
                self.layers = replace(self.layers, for_run={**self.layers.for_run, "mode": mode})
            self.push_screen(SettingsScreen(self.layers, self._use_layers))

    def action_tools(self) -> None:
        """List the tools and their servers, those of `config.toml` as it is now."""
        from tui.chat.dialogs import ToolsScreen

        if isinstance(self.screen, ChatScreen):
            session, view = self.chat.session, self.chat.controller.view
            self.read_tools()
            tools = ToolsScreen(session.tool_loop, session.branch.conversation, self.read_tools)
            self.push_screen(tools, lambda _: view.list_chats())

    def read_tools(self) -> None:
        """Read `config.toml` again, and use its tools."""
        try:
            self._use_layers(replace(self.layers, config=read()))
        except UsageError as error:
            self.notify(str(error), severity="warning", timeout=8)

    def _use_layers(self, layers: Layers) -> None:
        """Apply changed settings, and reload the models if they depend on them."""
        before = self.settings
        if before.tools != layers.config.tools:
            tools = self.chat.session.tool_loop.tools
            self.run_worker(tools.use(layers.config.tools, before.offline))
        self.chat.controller.apply(layers.settings(before, self.layers))
        self._save_choices(layers)
        self.theme = self.settings.theme
        if any(getattr(before, name) != getattr(self.settings, name) for name in MODEL_SETTINGS):
            self.look_for_models()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Add the named keys of the screen to the palette."""
        from tui.app.help_screen import commands

        yield from commands(super().get_system_commands(screen), screen, self.run_action)
