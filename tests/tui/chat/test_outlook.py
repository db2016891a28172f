"""What is said of speculation: one claim at most, whose figures agree with its words."""

import re
from dataclasses import replace
from itertools import product

import pytest

from assistant.events import Decoded, Forecast, Reason, Stats
from tui.chat.panel.outlook import (
    CLEAR,
    DOING,
    MIN_GUESSES,
    NONE_LIKELY,
    NOT_TIMED,
    TOO_FEW,
    Outlook,
    outlook,
)
from tui.chat.panel.panel import WIDTH

TOKEN_S = 0.05
FAST = Stats(
    "auto", rounds=40, drafted=120, tested=100, accepted=80, generated_tokens=120,
    decode_s=4.0, guessing_s=4.0, lookahead_counts={3: 40},
)  # fmt: skip
SLOW = replace(FAST, decode_s=8.0, guessing_s=8.0)
FEW = replace(FAST, drafted=3, tested=3, accepted=1)
NONE = Stats("auto", rounds=40, generated_tokens=40, decode_s=2.0)
TIMES = re.compile(r"(\d+\.\d\d) times")
SHARES = re.compile(r"(\d+)%")


def said(stats: Stats = FAST, forecast: Forecast | None = None, lookahead: int = 3) -> Outlook:
    return outlook(Decoded((), (), lookahead, 300, stats, forecast))


def likely(speedup: float | None = 1.31) -> Forecast:
    return Forecast(Reason.LIKELY, speedup, TOKEN_S)


@pytest.mark.parametrize(
    ("stats", "forecast", "worth", "saves"),
    [
        (FAST, likely(), "Guessing has made this answer 1.50 times as fast.", True),
        (FAST, likely(0.5), "Guessing has made this answer 1.50 times as fast.", True),
        (
            replace(FAST, decode_s=6.08, guessing_s=6.08),
            likely(),
            "Guessing has made no clear difference: 0.99 times the plain speed.",
            None,
        ),
        (
            SLOW,
            likely(),
            "Guessing has slowed this answer to 0.75 times the plain speed: a guess cost 100% of "
            "the time of a plain token and saved 67%.",
            False,
        ),
        (FEW, likely(), "These guesses should be 1.31 times as fast as plain decoding.", True),
        (FEW, likely(1.01), TOO_FEW, None),
        (
            NONE,
            Forecast(Reason.UNLIKELY, 1.16, TOKEN_S, cost=0.7, right=0.5),
            "On this computer a guess costs 70% of the time of a plain token, and only about 50% "
            "of guesses would be right.",
            False,
        ),
        (
            NONE,
            Forecast(Reason.UNLIKELY, 1.0, TOKEN_S, cost=0.6),
            "On this computer a guess costs 60% of the time of a plain token, and none looks that "
            "likely to be right.",
            False,
        ),
        (NONE, Forecast(Reason.UNLIKELY, 1.0, TOKEN_S, cost=0.5, right=0.7), NONE_LIKELY, False),
        (FAST, Forecast(Reason.CHOSEN), NOT_TIMED, None),
        (FAST, None, NOT_TIMED, None),
        (NONE, Forecast(Reason.ARS), "", None),
    ],
)
def test_what_was_measured_goes_before_what_is_expected(stats, forecast, worth, saves):
    found = said(stats, forecast)
    assert (found.worth, found.saves) == (worth, saves)
    assert found.doing == (DOING[forecast.reason] if forecast else "")


@pytest.mark.parametrize("decode_s", [60.0, 100.0, 160.0])
def test_a_machine_that_changes_its_pace_is_not_held_for_a_gain_by_a_few_guesses(decode_s):
    """An answer with two tokens gained of 77 was said to have come 1.40 times as fast."""
    stats = Stats(
        "auto", rounds=75, drafted=11, tested=11, accepted=2, generated_tokens=77,
        decode_s=decode_s, guessing_s=9 / 75 * decode_s, lookahead_counts={0: 66, 1: 7, 2: 2},
    )  # fmt: skip
    for token_s in (0.5, 0.9, 1.5, 2.5):
        found = said(stats, Forecast(Reason.LIKELY, 1.2, token_s))
        assert found.saves is None
        assert found.worth.startswith("Guessing has made no clear difference")


def every_moment():
    """Yield a moment for every combination of fields, at and around each bound."""
    reasons = [None, *Reason]
    counts = [(0, 40, 40), (3, 41, 38), (7, 40, 30), (8, 40, 36), (120, 40, 0), (120, 70, 0)]
    counts += [(1240, 40, 0)]  # a guess more or less is no percent of them
    seconds = [(0.0, 0.0), (0.5, 0.5), (2.0, 1.9), (2.1, 0.3)]
    seconds += [(2.15, 2.15), (2.2, 2.2), (3.5, 0.1), (9.0, 8.0)]
    shares = [None, 0.0, 0.3, 0.699, 0.7, 0.701, 1.4]
    for reason, (drafted, generated, plain), times in product(reasons, counts, seconds):
        stats = Stats(
            "auto",
            rounds=40,
            drafted=drafted,
            generated_tokens=generated,
            decode_s=times[0],
            guessing_s=times[1] if drafted else 0.0,
            lookahead_counts={0: plain, 3: 40 - plain},
        )
        for speedup, token_s in product([None, 0.4, 0.999, 1.049, 1.16], [None, TOKEN_S]):
            for cost, right in product(shares, shares):
                forecast = reason and Forecast(reason, speedup, token_s, cost, right)
                for no_draft in (None, "No model here can draft for x.gguf."):
                    yield Decoded((), (), drafted and 3, 300, stats, forecast or None), no_draft


def test_no_moment_is_told_with_two_claims_or_with_figures_against_its_words():
    for last, no_draft in every_moment():
        found = outlook(last, no_draft)
        factors = [float(each) for each in TIMES.findall(found.text)]
        shares = [int(each) for each in SHARES.findall(found.text)]
        assert len(factors) <= 1
        if re.search("should", found.text):
            assert last.forecast.reason in (Reason.LIKELY, Reason.SPS)
            assert last.stats.drafted < MIN_GUESSES
        match found.saves:
            case True:
                assert min(factors) >= 1 + CLEAR
                assert shares == []
                assert not re.search("slowed|costs|only", found.text)
            case False:
                assert max(factors, default=0.0) <= 1 - CLEAR
                assert len(shares) < 2 or shares[0] > shares[1]
                assert not re.search("as fast|should", found.text)
            case None:
                assert all(abs(factor - 1) < CLEAR for factor in factors)
                assert shares == []
                assert not re.search("as fast|slowed|should|costs", found.text)
        if (plain := found.plain_tokens_per_s) is not None:  # the figures beside the sentence
            assert factors == [pytest.approx(last.stats.tokens_per_s / plain, abs=0.006)]
            assert factors[0] <= last.stats.tokens_per_eval + 0.006


def test_every_reason_has_its_sentence():
    assert set(DOING) == set(Reason)
    assert len(set(DOING.values())) == len(DOING)
    assert max(map(len, DOING.values())) <= WIDTH - 3


def test_the_lack_of_a_draft_is_told_where_it_explains_that_nothing_was_guessed():
    why = "No model here can draft for x.gguf."
    for reason in Reason:
        told = outlook(Decoded((), (), 0, 300, NONE, Forecast(reason)), why).worth == why
        assert told is (reason in (Reason.SPS, Reason.CHOSEN, Reason.NO_SOURCE))
    assert outlook(Decoded((), (), 3, 300, FAST, likely()), why).saves  # tables have proposed
