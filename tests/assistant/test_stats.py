"""Counts and times of answers, added up."""

from dataclasses import fields

from assistant.stats import Stats, Tally
from tests.answer_stats import BOTH, FIRST

MORE = Stats(
    "auto", rounds=2, drafted=3, tested=3, accepted=3, generated_tokens=5,
    prompt_tokens=75, cached_tokens=75, prefill_s=0.1, first_token_s=0.2, decode_s=0.5,
    draft_s=0.1, verify_s=0.3, guessing_s=0.4, lookahead_counts={3: 1, 0: 1},
    positions=(Tally(1, 1), Tally(1, 1), Tally(1, 1)), sources={"ngram": Tally(3, 3)},
    masked_rows=6, mask_s=0.5,
)  # fmt: skip


def test_parts_add_up_and_the_beginning_is_that_of_the_first() -> None:
    assert FIRST.plus(MORE) == BOTH


def test_every_count_of_the_figures_is_added_up_or_that_of_the_beginning() -> None:
    same = FIRST.plus(FIRST)
    kept = {f.name for f in fields(Stats) if getattr(same, f.name) == getattr(FIRST, f.name)}
    once = {"mode", "draft", "prompt_tokens", "cached_tokens", "first_token_s", "engine"}
    assert kept == once
