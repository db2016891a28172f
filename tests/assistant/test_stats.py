"""Counts and times of answers, added up."""

from dataclasses import fields

from assistant.stats import Stats
from tests.answer_stats import BOTH, FIRST, MORE


def test_parts_add_up_and_the_beginning_is_that_of_the_first() -> None:
    assert FIRST.plus(MORE) == BOTH


def test_every_count_of_the_figures_is_added_up_or_that_of_the_beginning() -> None:
    same = FIRST.plus(FIRST)
    kept = {f.name for f in fields(Stats) if getattr(same, f.name) == getattr(FIRST, f.name)}
    once = {"mode", "draft", "prompt_tokens", "cached_tokens", "first_token_s", "engine"}
    assert kept == once
