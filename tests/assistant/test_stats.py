"""`Stats`: the figures of two answers, added up."""

from dataclasses import fields

from assistant.stats import Stats
from tests.answer_stats import BOTH, FIRST, MORE


def test_stats_add_up_and_the_first_token_is_that_of_the_first() -> None:
    assert FIRST.plus(MORE) == BOTH


def test_every_figure_is_summed_or_taken_from_the_first_answer() -> None:
    same = FIRST.plus(FIRST)
    kept = {f.name for f in fields(Stats) if getattr(same, f.name) == getattr(FIRST, f.name)}
    once = {"mode", "draft", "prompt_tokens", "cached_tokens", "first_token_s", "engine"}
    assert kept == once
