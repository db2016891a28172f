"""What speculation does now, why, and what it has brought: all that is said of it comes from here.

A newcomer reads it. So proposals are guesses, ArS is plain decoding, and each outlook makes one
claim at most of whether guessing saves time: what was measured goes before what is expected.
"""

from dataclasses import dataclass

from assistant.events import Decoded, Forecast, Reason, Stats

MIN_GUESSES = 8
"""Guesses needed for a meaningful average."""
CLEAR = 0.05
"""Share by which a speed must differ: plain decoding is known no more exactly."""
NOT_TIMED = "Plain decoding was not timed, so there is nothing to compare with."
TOO_FEW = "There were too few guesses to say whether they help."
NONE_LIKELY = "No guess looks likely enough to save time."
DOING = {
    Reason.ARS: "Guessing is off: you chose ArS.",
    Reason.SPS: "You chose SpS, so tokens are guessed.",
    Reason.CHOSEN: "You chose the number of guesses.",
    Reason.UNMEASURED: "Guessing is off: not measured here.",
    Reason.NO_SOURCE: "Nothing can be guessed here.",
    Reason.FIRST: "The first token is never guessed.",
    Reason.TIMING: "Plain decoding is being timed.",
    Reason.SPENT: "Guessing is off: too many were wrong.",
    Reason.UNLIKELY: "Guessing is off for now.",
    Reason.LIKELY: "Guessing is on: good guesses at hand.",
}
"""Each fits a line of the panel."""
GUESSING = (Reason.LIKELY, Reason.SPS)
"""What guesses are worth was weighed, and some were made."""
BY_WISH = (Reason.SPS, Reason.CHOSEN, Reason.NO_SOURCE)
"""Guessing was asked for, or cannot be: then the lack of a draft model explains something."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """Two sentences, and the figures that go with them."""

    doing: str = ""  # what is guessed now, and why
    worth: str = ""  # what guessing brings; empty while nothing can be said
    saves: bool | None = None  # what `worth` claims; None: neither
    plain_tokens_per_s: float | None = None  # what ArS would come to, where they are compared

    @property
    def is_informed(self) -> bool:
        """Whether `worth` rests on something that was measured."""
        return self.saves is not None or self.plain_tokens_per_s is not None

    @property
    def text(self) -> str:
        """Both sentences."""
        return " ".join(filter(None, (self.doing, self.worth)))


def outlook(last: Decoded, no_draft: str | None = None) -> Outlook:
    """Return what is to be said after a round; `no_draft` is why there is no draft model."""
    stats, forecast = last.stats, last.forecast
    doing = DOING[forecast.reason] if forecast else ""
    if stats.drafted >= MIN_GUESSES:
        return _measured(doing, stats, forecast)
    if forecast and forecast.reason is Reason.UNLIKELY:
        return Outlook(doing, _too_dear(forecast), False)
    if forecast and forecast.reason in GUESSING and (forecast.speedup or 0) >= 1 + CLEAR:
        worth = f"These guesses should be {forecast.speedup:.2f} times as fast as plain decoding."
        return Outlook(doing, worth, True)
    if stats.drafted:
        return Outlook(doing, TOO_FEW)
    explains = forecast is not None and forecast.reason in BY_WISH
    return Outlook(doing, no_draft or "" if explains else "")


def _measured(doing: str, stats: Stats, forecast: Forecast | None) -> Outlook:
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
        return Outlook(doing, NOT_TIMED)
    token_s = min(token_s, stats.guessing_s / guessed)
    gained = stats.generated_tokens - stats.rounds
    cost = stats.guessing_s / token_s - guessed
    speedup = 1 + (gained - cost) * token_s / stats.decode_s
    plain_tokens_per_s = stats.tokens_per_s / speedup
    speedup = round(speedup, 2)
    if speedup >= 1 + CLEAR:
        worth = f"Guessing has made this answer {speedup:.2f} times as fast."
        return Outlook(doing, worth, True, plain_tokens_per_s)
    if speedup > 1 - CLEAR:
        worth = f"Guessing has made no clear difference: {speedup:.2f} times the plain speed."
        return Outlook(doing, worth, None, plain_tokens_per_s)
    worth = f"Guessing has slowed this answer to {speedup:.2f} times the plain speed"
    took, saved = f"{cost / stats.drafted:.0%}", f"{gained / stats.drafted:.0%}"
    if took != saved:  # the former is larger: otherwise it would not be a loss
        worth += f": a guess cost {took} of the time of a plain token and saved {saved}"
    return Outlook(doing, f"{worth}.", False, plain_tokens_per_s)


def _too_dear(forecast: Forecast) -> str:
    """Say why no guess was made, in figures where they show it."""
    cost, right = forecast.cost, forecast.right
    if cost is None:
        return NONE_LIKELY
    costs = f"a guess costs {cost:.0%} of the time of a plain token"
    if right is None:
        return f"On this computer {costs}, and none looks that likely to be right."
    if f"{right:.0%}" != f"{cost:.0%}" and right < cost:
        return f"On this computer {costs}, and only about {right:.0%} of guesses would be right."
    return NONE_LIKELY
