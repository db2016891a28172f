"""Giving the app the theme and the keys that the settings ask for."""

import asyncio
from typing import Any

from textual.app import App

from tui.safe import safe
from tui.settings.settings import Settings


def appear(app: App[Any], settings: Settings) -> None:
    """Use the theme and the keys; what cannot be used is said in a notice."""
    if settings.theme in app.available_themes:
        app.theme = settings.theme
    if settings.keymap:
        app.run_worker(_use_keys(app, settings), group="keys", exclusive=True)


def say_notices(app: App[Any], settings: Settings) -> None:
    """Say what is odd in `config.toml`."""
    for notice in settings.notices:
        _warn(app, notice)


async def _use_keys(app: App[Any], settings: Settings) -> None:
    """Look at all keys first; that imports every screen, which is left to a thread."""
    from tui.app.keymap import all_bindings, usable

    good, complaints = usable(settings.keymap, await asyncio.to_thread(all_bindings))
    app.set_keymap(good)
    for complaint in complaints:
        _warn(app, complaint)


def _warn(app: App[Any], text: str) -> None:
    app.notify(safe(text), title="config.toml", severity="warning", timeout=10, markup=False)
