"""The figures of an answer in words."""

from dataclasses import replace

from assistant.stats import Tally
from tests.assistant.test_stats import BOTH, FIRST
from tui.figures import figures, of_form


def test_what_a_form_has_done_is_said_in_a_sentence() -> None:
    fixed = replace(BOTH, sources={"form": Tally(20, 19)}, masked_rows=50, mask_s=0.005)
    assert of_form(fixed) == (
        "The form fixed 19 of 30 tokens. To learn what it allows took 0.10 ms a token."
    )
    assert of_form(replace(fixed, sources={})).startswith("The form fixed 0 of 30 tokens.")


def test_the_figures_of_a_long_answer_fit_a_line_of_a_small_terminal() -> None:
    assert figures(replace(FIRST, generated_tokens=1))[0] == "1 token"
    long = replace(FIRST, generated_tokens=1250, rounds=100, decode_s=10.0, accepted=20)
    line = " · ".join(figures(long))
    assert line == "1,250 tokens · 125.0 tokens/s · 100% accepted · 12.50 tokens/evaluation"
    assert len(line) <= 80 - 6  # what stands around an answer
