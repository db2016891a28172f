"""The figures of an answer in words."""

from dataclasses import replace

from assistant.stats import Tally
from tests.answer_stats import BOTH, FIRST
from tui.labels import constraint_figures, counted, figures, model_name


def test_the_effect_of_a_constraint_is_one_sentence() -> None:
    fixed = replace(BOTH, sources={"form": Tally(20, 19)}, masked_rows=50, mask_s=0.005)
    assert constraint_figures(fixed) == (
        "The form fixed 19 of 30 tokens; checking it cost 0.10 ms a token."
    )
    assert constraint_figures(replace(fixed, sources={})).startswith(
        "The form fixed 0 of 30 tokens;"
    )


def test_the_figures_of_a_long_answer_fit_a_line_of_a_small_terminal() -> None:
    assert figures(replace(FIRST, generated_tokens=1))[0] == "1 token"
    long = replace(FIRST, generated_tokens=1250, rounds=100, decode_s=10.0, accepted=20)
    line = " · ".join(figures(long))
    assert line == "1,250 tokens · 125.0 tokens/s · 100% of guesses right"
    assert len(line) <= 80 - 6  # what stands around an answer


def test_a_model_is_called_by_its_family_and_its_size() -> None:
    assert model_name("Qwen2.5 Coder 1.5B Instruct GGUF") == "Qwen2.5 Coder 1.5B"
    assert model_name("Smollm2 135M 8k Lc100K Mix1 Ep2") == "SmolLM2 135M"
    for slim in ("Qwen2.5 Coder 0.5B Instruct AWQ slim", "qwen2.5-coder-0.5b-q4_k_m-slim.gguf"):
        assert model_name(slim) == "Qwen2.5 Coder 0.5B slim"
    assert model_name("gemma-4-E2B-it-Q4_K_M.gguf") == "Gemma 4 E2B"
    assert model_name("gpt-4o") == "gpt-4o"


def test_one_thing_is_counted_in_the_singular() -> None:
    counts = ["0 tokens", "1 token", "1,234 tokens"]
    assert [counted(count, "token") for count in (0, 1, 1234)] == counts
