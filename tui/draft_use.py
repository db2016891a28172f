"""Sentences about models: a draft of which a user would expect more, a larger model that fits."""

import shlex
from pathlib import Path

from assistant.events import ModelInfo, Ready, Stats
from assistant.request import COPYING
from assistant.settings.settings import Settings
from models.drafts import NO_DRAFT
from models.files.locate import identify
from models.files.places import cache_dir
from models.files.stores import discover
from tui.widgets.text_figures import size

MIN_TESTED = 8
"""How many proposals show that accepting none was no accident."""


class DraftNotes:
    """Say why answers come without speculation, and once of a pair that its draft is no help."""

    def __init__(self) -> None:
        self._doubted: ModelInfo | None = None  # of which that is still to be said
        self.no_draft: str | None = None
        """Why there is no draft, if that was known before models were loaded."""

    def ready(self, ready: Ready, settings: Settings) -> str | None:
        """Note which pair answers from now on; say why it has no draft."""
        self.no_draft = None if ready.draft else self.no_draft or ready.no_draft
        self._doubted = ready.draft
        return refused(self.no_draft, ready, settings) if self.no_draft else None

    def doubt(self, stats: Stats) -> str | None:
        """Say it if nothing that the draft proposed was accepted."""
        text = rejected(stats, self._doubted) if self._doubted else None
        if text is None:
            return None
        self._doubted = None
        return f"{text} F5 chooses another model to guess, or none."


def refused(reason: str, ready: Ready, settings: Settings) -> str:
    """Return why there is no draft model, and what that means for answers."""
    if settings.mode == "ars":
        return reason
    if ready.rolls_back and COPYING & {*settings.draft_sources}:
        return f"Guesses come from the conversation alone. {reason}"
    return f"Answers come without guesses. {reason}"


def rejected(stats: Stats, draft: ModelInfo) -> str | None:
    """Return a sentence if a draft was no help at all."""
    tally = stats.sources.get("model")
    if tally is None or tally.tested < MIN_TESTED or tally.accepted:
        return None
    return f"None of the {tally.tested:,} guesses of {Path(draft.path).name} was right."


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
    # Where the file was found, another one may work.
    return f"{text}\n{_fitting(settings)}" if ready.rolls_back and not no_draft else text


def helpless(stats: Stats, ready: Ready, settings: Settings) -> str | None:
    """Return a sentence if a draft was no help, and how to find another."""
    text = rejected(stats, ready.draft) if ready.draft else None
    return text and f"{text} {_fitting(settings)}"


def _fitting(settings: Settings) -> str:
    target = f" {shlex.quote(settings.target)}" if settings.target else ""
    return f"To see which drafts fit: specchat models pair{target}"
