"""Sentences on speculation: its gain so far, and what it does now and why.

They are for newcomers: proposals are called guesses, and only measured figures are stated, because
a forecast may prove wrong a moment later.
"""

import shlex
from dataclasses import dataclass
from pathlib import Path

from assistant.decoding.lookahead.forecast import Forecast, Reason
from assistant.events import Decoded, Ready, Stats
from assistant.request import COPYING
from assistant.settings.settings import Settings
from models.drafts import NO_DRAFT
from models.files.locate import identify
from models.files.places import cache_dir
from models.files.stores import discover
from tui.formatting import size

MIN_GUESSES = 8  # guesses needed for a meaningful average
CLEAR = 0.05  # share from which a difference is clear: plain decoding is not measured better
NO_GUESSES = "No guesses were tried in this answer"
NOT_TIMED = "The speed without guesses was not measured."
DOING = {
    Reason.ARS: "Guessing is off, as you chose.",
    Reason.SPS: "Always guessing, as you chose.",
    Reason.CHOSEN: "You chose the number of guesses.",
    Reason.UNMEASURED: "Guessing is not measured here yet.",
    Reason.NO_SOURCE: "Nothing here can guess.",
    Reason.FIRST: "The first token is never guessed.",
    Reason.SPENT: "Guessing paused: it was costing more time than it saved.",
    Reason.UNLIKELY: "Not guessing now: it would not save time.",
    Reason.LIKELY: "Guessing now.",
}
"""What speculation does now; no sentence judges how good guesses were."""
EXPLAINED_BY_NO_DRAFT = (Reason.SPS, Reason.CHOSEN, Reason.NO_SOURCE)
"""Reasons for which a missing draft model is the explanation."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The gain of guesses, its reason, and what is guessed now."""

    gain: str  # at most a line; empty while too few guesses were tested
    why: str = ""
    doing: str = ""
    saves: bool | None = None  # whether `gain` is positive; None: neither
    plain_tokens_per_s: float | None = None  # the speed without guesses, if measured


def outlook(last: Decoded, no_draft: str | None = None) -> Outlook:
    """Return the sentences after a round; `no_draft` is why there is no draft model."""
    stats, forecast = last.stats, last.forecast
    doing = DOING[forecast.reason] if forecast else ""
    if not stats.tested:
        # The draft's prefill takes time even if no guess follows.
        share = stats.guessing_s / stats.decode_s if stats.decode_s else 0.0
        preparing = f"; preparing them took {share:.0%} of the time" if share >= CLEAR else ""
        return Outlook(f"{NO_GUESSES}{preparing}", _why_not(forecast, no_draft), doing)
    if stats.drafted < MIN_GUESSES:
        return Outlook("", "", doing)
    guesses = "guess" if stats.tested == 1 else "guesses"
    counted = f"{stats.accepted:,} of {stats.tested:,} {guesses} right"
    return _measure(counted, doing, stats, forecast)


def _measure(counted: str, doing: str, stats: Stats, forecast: Forecast | None) -> Outlook:
    """Compare the answer so far with the estimated time of ArS.

    Rounds with guesses are compared with plain rounds of the same answer, if there are some. They
    are never faster than plain ones: if it seems so, the speed of the machine has changed.
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
        gain = f"{counted}: {speedup:.2f} times as fast as without"
        return Outlook(gain, "", doing, True, plain_tokens_per_s)
    if speedup > 1 - CLEAR:
        few = gained < CLEAR * stats.generated_tokens
        gain = f"{counted}: {'too few to matter' if few else 'about as fast as without'}"
        return Outlook(gain, "", doing, None, plain_tokens_per_s)
    gain = f"{counted}, yet only {speedup:.2f} times as fast as without"
    took, saved = f"{cost / stats.drafted:.0%}", f"{gained / stats.drafted:.0%}"
    # In a loss, the cost of a guess is larger than its saving.
    why = f"A guess cost {took} of a token's time and saved {saved}." if took != saved else ""
    return Outlook(gain, why, doing, False, plain_tokens_per_s)


def _why_not(forecast: Forecast | None, no_draft: str | None) -> str:
    """Return why no guess was made, with figures where they explain it."""
    if forecast is None:
        return ""
    cost, right = forecast.cost, forecast.right
    if forecast.reason in EXPLAINED_BY_NO_DRAFT:
        return no_draft or ""
    if forecast.reason is not Reason.UNLIKELY or cost is None or round(cost, 2) <= 0:
        return ""  # a measured cost may be negative
    costs = f"On this computer a guess costs {cost:.0%} of a token's time"
    if right is None:
        return f"{costs}, and none looks that likely to be right."
    if f"{right:.0%}" != f"{cost:.0%}" and right < cost:
        return f"{costs}, and only about {right:.0%} would be right."
    return ""


def can_guess(ready: Ready, settings: Settings) -> bool:
    """Return whether anything can propose tokens for answers."""
    copies = ready.rolls_back and COPYING & {*settings.draft_sources}
    return ready.draft is not None or bool(copies)


def without_draft(no_draft: str | None, ready: Ready, settings: Settings) -> str:
    """Return why there is no draft model, and the consequence for answers; nothing if there is one.

    `no_draft` is the reason, if it was known before the models were loaded.
    """
    reason = "" if ready.draft else no_draft or str(ready.no_draft)
    if not reason or settings.mode == "ars":
        return reason
    if can_guess(ready, settings):
        return f"Guesses come from the conversation alone. {reason}"
    return f"Answers come without guesses. {reason}"


def suggest_larger(target: Path, settings: Settings) -> str | None:
    """Return a sentence that suggests a larger model for this machine, if there is one. Slow."""
    from assistant.engine.expectation import Expectations

    models = list(discover(settings.folders))
    suggestion = Expectations(models, cache_dir()).larger(identify(str(target), models))
    if suggestion is None:
        return None
    model, expectation = suggestion
    speed = f"about {expectation.tokens_per_s.middle:.0f} tokens/s"
    description = f"{model.name} ({size(model.size)} download, {speed} here)"
    return f"A larger model, {description}, may answer better. F5 to get it."


def missing_draft(no_draft: str | None, ready: Ready, settings: Settings) -> str:
    """Return why there is no draft if the settings make one expected, and how to find one."""
    if settings.draft == NO_DRAFT or (settings.mode == "ars" and not settings.draft):
        return ""
    text = without_draft(no_draft, ready, settings)
    if not text or no_draft or not ready.rolls_back:
        return text
    # The draft is incompatible, so another one may work.
    target = f" {shlex.quote(settings.target)}" if settings.target else ""
    return f"{text}\nTo see which drafts fit: specchat models pair{target}"
