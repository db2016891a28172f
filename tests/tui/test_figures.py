"""The figures of an answer that was continued."""

from dataclasses import fields, replace

from assistant.events import Stats, Tally
from tui.figures import figures, of_form, together

FIRST = Stats(
    "sps", rounds=10, drafted=30, tested=20, accepted=15, generated_tokens=25,
    prompt_tokens=50, cached_tokens=5, prefill_s=1.0, first_token_s=1.2, decode_s=2.0,
    draft_s=0.5, verify_s=1.4, guessing_s=0.5, lookahead_counts={3: 10},
    positions=(Tally(10, 8), Tally(10, 7)), sources={"model": Tally(20, 15)},
    masked_rows=30, mask_s=0.25, thought_tokens=9, thought_s=0.75,
)  # fmt: skip
MORE = Stats(
    "auto", rounds=2, drafted=3, tested=3, accepted=3, generated_tokens=5,
    prompt_tokens=75, cached_tokens=75, prefill_s=0.1, first_token_s=0.2, decode_s=0.5,
    draft_s=0.1, verify_s=0.3, guessing_s=0.4, lookahead_counts={3: 1, 0: 1},
    positions=(Tally(1, 1), Tally(1, 1), Tally(1, 1)), sources={"ngram": Tally(3, 3)},
    masked_rows=6, mask_s=0.5,
)  # fmt: skip
BOTH = Stats(
    "auto", rounds=12, drafted=33, tested=23, accepted=18, generated_tokens=30,
    prompt_tokens=50, cached_tokens=5, prefill_s=1.1, first_token_s=1.2, decode_s=2.5,
    draft_s=0.6, verify_s=1.7, guessing_s=0.9, lookahead_counts={3: 11, 0: 1},
    positions=(Tally(11, 9), Tally(11, 8), Tally(1, 1)),
    sources={"model": Tally(20, 15), "ngram": Tally(3, 3)},
    masked_rows=36, mask_s=0.75, thought_tokens=9, thought_s=0.75,
)  # fmt: skip


def test_parts_add_up_and_the_beginning_is_that_of_the_first() -> None:
    assert together(FIRST, MORE) == BOTH
    assert figures(BOTH)[0] == "30 tokens"


def test_every_count_of_the_figures_is_added_up_or_that_of_the_beginning() -> None:
    same = together(FIRST, FIRST)
    kept = {f.name for f in fields(Stats) if getattr(same, f.name) == getattr(FIRST, f.name)}
    once = {"mode", "draft", "prompt_tokens", "cached_tokens", "first_token_s", "beside", "engine"}
    assert kept == once


def test_what_a_form_has_done_is_said_in_a_sentence() -> None:
    fixed = replace(BOTH, sources={"form": Tally(20, 19)}, masked_rows=50, mask_s=0.005)
    assert of_form(fixed) == (
        "The form fixed 19 of 30 tokens. To learn what it allows took 0.10 ms a token."
    )
    assert of_form(replace(fixed, sources={})).startswith("The form fixed 0 of 30 tokens.")


def test_what_nothing_is_known_of_adds_nothing() -> None:
    assert together(None, MORE) == MORE


def test_the_figures_of_a_long_answer_fit_a_line_of_a_small_terminal() -> None:
    assert figures(replace(FIRST, generated_tokens=1))[0] == "1 token"
    long = replace(FIRST, generated_tokens=1250, rounds=100, decode_s=10.0, accepted=20)
    line = " · ".join(figures(long))
    assert line == "1,250 tokens · 125.0 tokens/s · 100% accepted · 12.50 tokens/evaluation"
    assert len(line) <= 80 - 6  # what stands around an answer
