"""Whether speculation pays, in one plain sentence."""

from typing import NamedTuple

from assistant.events import Decoded, Forecast, Stats

ENOUGH = 8
"""Guessed tokens, or those that met the test, from which on an average means something."""
PAYS = "Guessing pays here: {:.2f} times the speed of ArS so far."


class Verdict(NamedTuple):
    """A sentence, and whether it is good news; None while nothing is known."""

    text: str
    pays: bool | None


def verdict(decoded: Decoded, no_draft: str | None = None) -> Verdict:
    """Say what the values come to."""
    stats, forecast = decoded.stats, decoded.forecast or Forecast("")
    if no_draft and not stats.drafted:
        return Verdict(f"Nothing was guessed: {no_draft}", None)
    if forecast.speedup is None:
        return _so_far(decoded)
    if forecast.speedup > 1:
        return _promising(decoded, forecast.speedup)
    if decoded.lookahead:
        ending = f". ArS would be {1 / forecast.speedup:.2f} times as fast"
    else:
        ending = ", so ArS is used"
    return Verdict(f"Guessing does not pay here: {_why(stats, forecast)}{ending}.", False)


def realised(stats: Stats, forecast: Forecast | None) -> float | None:
    """Return how many times as fast as ArS the answer came; None before anything was guessed."""
    if forecast is None or forecast.ars_token_s is None or not stats.drafted:
        return None
    return stats.tokens_per_s * forecast.ars_token_s


def guess_cost(stats: Stats, forecast: Forecast) -> float | None:
    """Return what a guessed token took, beyond one evaluation a round, in evaluations."""
    if not forecast.ars_token_s or stats.drafted < ENOUGH:
        return None
    cost = (stats.decode_s / forecast.ars_token_s - stats.rounds) / stats.drafted
    return cost if cost > 0 else None


def _why(stats: Stats, forecast: Forecast) -> str:
    cost = guess_cost(stats, forecast)
    if cost is None:
        return f"at best it would run at {forecast.speedup:.2f} times the speed of ArS"
    why = f"a guessed token costs {cost:.2f} of an evaluation"
    if stats.tested >= ENOUGH and stats.acceptance_rate is not None:
        why += f" and {stats.acceptance_rate:.0%} of them are right"
    return why


def _promising(decoded: Decoded, speedup: float) -> Verdict:
    so_far = realised(decoded.stats, decoded.forecast)
    if so_far is None or decoded.stats.drafted < ENOUGH:
        return Verdict(f"Guessing should pay here: {speedup:.2f} times the speed of ArS.", True)
    if so_far < 1:
        return Verdict(f"Guessing should pay here, but {_came_at(so_far)}.", False)
    return Verdict(PAYS.format(so_far), True)


def _so_far(decoded: Decoded) -> Verdict:
    """Judge a lookahead that somebody chose, by what it came to."""
    so_far = realised(decoded.stats, decoded.forecast)
    if not decoded.stats.drafted:
        return Verdict("Nothing was guessed, so there is nothing to compare.", None)
    if so_far is None:
        return Verdict("ArS was not measured, so there is nothing to compare with.", None)
    if decoded.stats.drafted < ENOUGH:
        return Verdict("Too little was guessed to say whether it pays.", None)
    if so_far < 1:
        return Verdict(f"Guessing does not pay here: {_came_at(so_far)}.", False)
    return Verdict(PAYS.format(so_far), True)


def _came_at(so_far: float) -> str:
    return f"so far this answer came at {so_far:.2f} times the speed of ArS"
