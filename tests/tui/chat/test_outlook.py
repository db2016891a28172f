"""The claim about speculation: one at most, whose figures agree with its words."""

import re
from dataclasses import replace
from itertools import islice, product

import pytest

from assistant.decoding.lookahead.forecast import Forecast, Reason
from assistant.events import Decoded, Finished, Stats, Stop
from assistant.settings.settings import Settings
from tests.patience import ALL
from tui.outlook import CLEAR, DOING, NO_GUESSES, NOT_TIMED, Outlook, outlook
from tui.shell.received_answers import ReceivedAnswer

TOKEN_S = 0.05
FAST = Stats(
    "auto", rounds=40, drafted=120, tested=100, accepted=80, generated_tokens=120,
    decode_s=4.0, guessing_s=4.0, lookahead_counts={3: 40},
)  # fmt: skip
SLOW = replace(FAST, decode_s=8.0, guessing_s=8.0)
FEW = replace(FAST, drafted=3, tested=3, accepted=1)
NO_HELP = replace(FAST, tested=40, accepted=0, generated_tokens=40)
NONE = Stats("auto", rounds=40, generated_tokens=40, decode_s=2.0)
TIMES = re.compile(r"(\d+\.\d\d) times")
SHARES = re.compile(r"(\d+)%")


def outlook_of(
    stats: Stats = FAST, forecast: Forecast | None = None, lookahead: int = 3
) -> Outlook:
    return outlook(Decoded((), (), lookahead, 300, stats, forecast))


def likely(speedup: float | None = 1.31) -> Forecast:
    return Forecast(Reason.LIKELY, speedup, TOKEN_S)


def unlikely(**shares: float) -> Forecast:
    return Forecast(Reason.UNLIKELY, 1.0, TOKEN_S, **shares)


HINDERED = "0 of 40 guesses right, yet only 0.50 times as fast as without"
SLOWER = "80 of 100 guesses right, yet only 0.75 times as fast as without"
DEAR = "On this computer a guess costs 70% of a token's time, and only about 50% would be right."
PREPARED = "No guesses were tried in this answer; preparing them took 10% of the time"


@pytest.mark.parametrize(
    ("stats", "forecast", "worth", "why", "saves"),
    [
        (FAST, likely(), "80 of 100 guesses right: 1.50 times as fast as without", "", True),
        (SLOW, likely(), SLOWER, "A guess cost 100% of a token's time and saved 67%.", False),
        (NO_HELP, likely(), HINDERED, "A guess cost 33% of a token's time and saved 0%.", False),
        (FEW, likely(), "", "", None),
        (NONE, unlikely(cost=0.7, right=0.5), NO_GUESSES, DEAR, None),
        (NONE, unlikely(cost=0.5, right=0.7), NO_GUESSES, "", None),
        (NONE, unlikely(cost=-0.16), NO_GUESSES, "", None),
        (replace(NONE, guessing_s=0.2), unlikely(), PREPARED, "", None),
        (FAST, Forecast(Reason.CHOSEN), "80 of 100 guesses right", NOT_TIMED, None),
        (NONE, Forecast(Reason.ARS), NO_GUESSES, "", None),
    ],
)
def test_the_claim_about_guessing_has_measured_figures(stats, forecast, worth, why, saves):
    found = outlook_of(stats, forecast)
    assert (found.gain, found.why, found.saves) == (worth, why, saves)
    assert found.doing == (DOING[forecast.reason] if forecast else "")


def test_ask_says_why_nothing_was_guessed_as_the_figures_do():
    last = Decoded((), (), 0, 300, NONE, unlikely(cost=0.7, right=0.5))
    received, end = ReceivedAnswer(last=last), Finished("", (), Stop.LENGTH, NONE)
    _, *lines = received.summary(end, Settings(), constrained=False, conversation=None)
    assert lines == [f"{NO_GUESSES}. {DEAR}"]


@pytest.mark.parametrize("decode_s", [60.0, 100.0, 160.0])
def test_a_machine_that_changes_its_pace_is_not_held_for_a_gain_by_a_few_guesses(decode_s):
    """An answer with two tokens gained of 77 was said to have come 1.40 times as fast."""
    stats = Stats(
        "auto", rounds=75, drafted=11, tested=11, accepted=2, generated_tokens=77,
        decode_s=decode_s, guessing_s=9 / 75 * decode_s, lookahead_counts={0: 66, 1: 7, 2: 2},
    )  # fmt: skip
    for token_s in (0.5, 0.9, 1.5, 2.5):
        found = outlook_of(stats, Forecast(Reason.LIKELY, 1.2, token_s))
        assert found.saves is None
        assert found.gain == "2 of 11 guesses right: too few to matter"


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
            "auto", rounds=40, drafted=drafted, tested=drafted, accepted=drafted * 2 // 3,
            generated_tokens=generated, decode_s=times[0], guessing_s=times[1] if drafted else 0.0,
            lookahead_counts={0: plain, 3: 40 - plain},
        )  # fmt: skip
        for speedup, token_s in product([None, 0.4, 0.999, 1.049, 1.16], [None, TOKEN_S]):
            for cost, right in product(shares, shares):
                forecast = reason and Forecast(reason, speedup, token_s, cost, right)
                for no_draft in (None, "No model here can guess for x.gguf."):
                    yield Decoded((), (), drafted and 3, 300, stats, forecast or None), no_draft


def test_no_moment_is_told_with_two_claims_or_with_figures_against_its_words():
    for last, no_draft in islice(every_moment(), 0, None, 1 if ALL else 11):
        found = outlook(last, no_draft)
        text = ". ".join((found.gain, found.why, found.doing))
        factors = [float(each) for each in TIMES.findall(text)]
        shares = [int(each) for each in SHARES.findall(text)]
        assert len(re.findall("as fast as without|too few|as much time", text)) <= 1
        assert len(factors) <= 1
        assert not re.search("right|wrong|fast|slow", found.doing)  # it judges no guesses
        match found.saves:
            case True:
                assert min(factors) >= 1 + CLEAR
                assert shares == []
            case False:
                assert max(factors) <= 1 - CLEAR
                assert "yet only" in found.gain
                assert len(shares) < 2 or shares[0] > shares[1]
            case None:
                assert factors == []
                assert len(shares) < 2 or shares[0] > shares[1]
        if not last.stats.tested:
            assert found.gain.startswith("No guesses were tried")
        if (plain := found.plain_tokens_per_s) is not None:  # the figures beside the sentence
            speedup = last.stats.tokens_per_s / plain
            assert factors == ([] if found.saves is None else [pytest.approx(speedup, abs=0.006)])
            assert found.saves is not None or abs(speedup - 1) < CLEAR + 0.006
            assert speedup <= last.stats.tokens_per_eval + 0.006


def test_every_reason_has_its_sentence():
    assert set(DOING) == set(Reason)
    assert len(set(DOING.values())) == len(DOING)


def test_the_lack_of_a_draft_is_told_where_it_explains_that_nothing_was_guessed():
    why = "No model here can guess for x.gguf."
    for reason in Reason:
        explained = outlook(Decoded((), (), 0, 300, NONE, Forecast(reason)), why).why == why
        assert explained is (reason in (Reason.SPS, Reason.CHOSEN, Reason.NO_SOURCE))
    assert outlook(Decoded((), (), 3, 300, FAST, likely()), why).saves  # tables have proposed
