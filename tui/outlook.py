"""What guessing has brought, and what is guessed now, or why nothing is, in words.

A newcomer reads it. So proposals are guesses, and only what was counted and measured is judged:
what is expected may come out otherwise a moment later.
"""

import shlex
from dataclasses import dataclass
from pathlib import Path

from assistant.events import Decoded, Forecast, Ready, Reason, Stats
from assistant.request import COPYING
from assistant.settings.settings import Settings
from models.drafts import NO_DRAFT
from models.files.locate import identify
from models.files.places import cache_dir
from models.files.stores import discover
from tui.widgets.text_figures import size

MIN_GUESSES = 8  # guesses needed for a meaningful average
CLEAR = 0.05  # share by which a speed must differ: plain decoding is known no more exactly
NO_GUESSES = "No guesses were tried in this answer"
NOT_TIMED = "The speed without guesses was not measured."
DOING = {
    Reason.ARS: "Guessing is off, as you chose.",
    Reason.SPS: "Always guessing, as you chose.",
    Reason.CHOSEN: "You chose the number of guesses.",
    Reason.UNMEASURED: "Guessing is not measured here yet.",
    Reason.NO_SOURCE: "Nothing here can guess.",
    Reason.FIRST: "The first token is never guessed.",
    Reason.TIMING: "A round without guesses, to compare.",
    Reason.SPENT: "Guessing paused: it was costing more time than it saved.",
    Reason.UNLIKELY: "These words look too hard to guess.",
    Reason.LIKELY: "These words look easy to guess.",
}
"""None says how good guesses were."""
BY_WISH = (Reason.SPS, Reason.CHOSEN, Reason.NO_SOURCE)
"""Guessing was asked for, or cannot be: then the lack of a draft model explains something."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What guessing has brought, why that is so, and what is guessed now."""

    worth: str  # fits a line of the screen; empty where too few guesses were tried to judge
    why: str = ""
    doing: str = ""
    saves: bool | None = None  # what `worth` claims; None: neither
    plain_tokens_per_s: float | None = None  # the speed without guesses, where it is compared


def outlook(last: Decoded, no_draft: str | None = None) -> Outlook:
    """Return what is to be said after a round; `no_draft` is why there is no draft model."""
    stats, forecast = last.stats, last.forecast
    doing = DOING[forecast.reason] if forecast else ""
    if not stats.tested:
        # Reading for guesses that never came may have taken time.
        share = stats.guessing_s / stats.decode_s if stats.decode_s else 0.0
        preparing = f"; preparing them took {share:.0%} of the time" if share >= CLEAR else ""
        return Outlook(f"{NO_GUESSES}{preparing}", _why_not(forecast, no_draft), doing)
    if stats.drafted < MIN_GUESSES:
        return Outlook("", "", doing)
    guesses = "guess" if stats.tested == 1 else "guesses"
    counted = f"{stats.accepted:,} of {stats.tested:,} {guesses} right"
    return _measured(counted, doing, stats, forecast)


def _measured(counted: str, doing: str, stats: Stats, forecast: Forecast | None) -> Outlook:
    """Compare the answer so far with what ArS would have taken for it.

    Rounds that guessed are held against the plain ones of the same answer, where it has some. They
    are never the faster: where it seems so, the machine has changed its pace meanwhile.
    """
    plain = stats.lookahead_counts.get(0, 0)
    guessed = stats.rounds - plain
    token_s = forecast.ars_token_s if forecast else None
    if plain >= MIN_GUESSES:
        token_s = (stats.decode_s - stats.guessing_s) / plain
    if not (token_s and guessed and stats.guessing_s):
        return Outlook(counted, NOT_TIMED, doing)
    token_s = min(token_s, stats.guessing_s / guessed)
    gained = stats.generated_tokens - stats.rounds
    cost = stats.guessing_s / token_s - guessed
    speedup = 1 + (gained - cost) * token_s / stats.decode_s
    plain_tokens_per_s = stats.tokens_per_s / speedup
    speedup = round(speedup, 2)
    if speedup >= 1 + CLEAR:
        worth = f"{counted}: {speedup:.2f} times as fast as without"
        return Outlook(worth, "", doing, True, plain_tokens_per_s)
    if speedup > 1 - CLEAR:
        few = gained < CLEAR * stats.generated_tokens
        reason = "too few to matter" if few else "they saved as much time as they cost"
        worth = f"{counted}: {reason}"
        return Outlook(worth, "", doing, None, plain_tokens_per_s)
    worth = f"{counted}, yet only {speedup:.2f} times as fast as without"
    took, saved = f"{cost / stats.drafted:.0%}", f"{gained / stats.drafted:.0%}"
    # The former is larger: otherwise it would not be a loss.
    why = f"A guess cost {took} of a token's time and saved {saved}." if took != saved else ""
    return Outlook(worth, why, doing, False, plain_tokens_per_s)


def _why_not(forecast: Forecast | None, no_draft: str | None) -> str:
    """Say why no guess was made, in figures where they show it."""
    if forecast is None:
        return ""
    cost, right = forecast.cost, forecast.right
    if forecast.reason in BY_WISH:
        return no_draft or ""
    if forecast.reason is not Reason.UNLIKELY or cost is None or round(cost, 2) <= 0:
        return ""  # it is measured, and may come out as less than nothing
    costs = f"On this computer a guess costs {cost:.0%} of a token's time"
    if right is None:
        return f"{costs}, and none looks that likely to be right."
    if f"{right:.0%}" != f"{cost:.0%}" and right < cost:
        return f"{costs}, and only about {right:.0%} would be right."
    return ""


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
