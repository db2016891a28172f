"""Sentences about models: why there is no draft, a larger model that fits."""

import shlex
from pathlib import Path

from assistant.events import Ready
from assistant.request import COPYING
from assistant.settings.settings import Settings
from models.drafts import NO_DRAFT
from models.files.locate import identify
from models.files.places import cache_dir
from models.files.stores import discover
from tui.widgets.text_figures import size


def refused(reason: str, ready: Ready, settings: Settings) -> str:
    """Return why there is no draft model, and what that means for answers."""
    if settings.mode == "ars":
        return reason
    if ready.rolls_back and COPYING & {*settings.draft_sources}:
        return f"Guesses come from the conversation alone. {reason}"
    return f"Answers come without guesses. {reason}"


def larger(target: Path, settings: Settings) -> str | None:
    """Return a sentence on a larger model that would run well here, if there is one. Slow."""
    from assistant.engine.expectation import Expectations

    here = list(discover(settings.folders))
    found = Expectations(here, cache_dir()).larger(identify(str(target), here))
    if found is None:
        return None
    model, told = found
    speed = f"about {told.tokens_per_s.middle:.0f} tokens/s"
    return f"{model.name} ({size(model.size)}) would run at {speed} here: F5 fetches it."


def missing(no_draft: str | None, ready: Ready, settings: Settings) -> str | None:
    """Return why there is no draft, in lines, if somebody may expect one.

    `no_draft` is why, where that was known before the models were loaded.
    """
    expected = settings.draft or settings.mode != "ars"
    if ready.draft or settings.draft == NO_DRAFT or not expected:
        return None
    text = refused(no_draft or str(ready.no_draft), ready, settings)
    if no_draft or not ready.rolls_back:
        return text
    # Where the file was found, another one may work.
    target = f" {shlex.quote(settings.target)}" if settings.target else ""
    return f"{text}\nTo see which drafts fit: specchat models pair{target}"
