"""The figures and the progress of an answer, as text."""

from dataclasses import replace

from assistant.events import Loading, Prefilled
from assistant.stats import Tally
from tests.answer_stats import BOTH, FIRST
from tui import reading
from tui.chat.status import State, line
from tui.labels import constraint_figures, figures, model_name, plural
from tui.reading import Activity, AnswerProgress


def test_the_effect_of_a_constraint_is_one_sentence() -> None:
    fixed = replace(BOTH, sources={"form": Tally(20, 19)}, masked_rows=50, mask_s=0.005)
    assert constraint_figures(fixed) == (
        "The form fixed 19 of 30 tokens; checking it cost 0.10 ms a token."
    )
    assert constraint_figures(replace(fixed, sources={})).startswith(
        "The form fixed 0 of 30 tokens;"
    )


def test_the_figures_of_a_long_answer_fit_a_small_line_and_one_thing_is_in_the_singular() -> None:
    assert figures(replace(FIRST, generated_tokens=1))[0] == "1 token"
    long = replace(FIRST, generated_tokens=1250, rounds=100, decode_s=10.0, accepted=20)
    line = " · ".join(figures(long))
    assert line == "1,250 tokens · 125.0 tokens/s · 100% of guesses right"
    assert len(line) <= 80 - 6  # what stands around an answer
    counts = ["0 tokens", "1 token", "1,234 tokens"]
    assert [plural(count, "token") for count in (0, 1, 1234)] == counts


def test_a_model_is_called_by_its_family_and_its_size() -> None:
    assert model_name("Qwen2.5 Coder 1.5B Instruct GGUF") == "Qwen2.5 Coder 1.5B"
    assert model_name("Smollm2 135M 8k Lc100K Mix1 Ep2") == "SmolLM2 135M"
    for slim in ("Qwen2.5 Coder 0.5B Instruct AWQ slim", "qwen2.5-coder-0.5b-q4_k_m-slim.gguf"):
        assert model_name(slim) == "Qwen2.5 Coder 0.5B slim"
    assert model_name("gemma-4-E2B-it-Q4_K_M.gguf") == "Gemma 4 E2B"
    assert model_name("gpt-4o") == "gpt-4o"


def test_the_time_left_is_that_of_the_tokens_left_at_the_speed_of_this_prefill(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(reading, "monotonic", lambda: now[0])
    describe = AnswerProgress().describe

    def after(seconds: float, done: int, total: int = 1000) -> str:
        now[0] += seconds
        activity = describe(Prefilled("target", done, total))
        assert activity.fraction == done / total
        return str(activity.text)

    assert after(0, 400) == "reading the prompt: 400 of 1,000 tokens"
    assert after(0.5, 410) == "reading the prompt: 410 of 1,000 tokens"
    assert after(9.5, 500) == "reading the prompt: 500 of 1,000 tokens, about 50 s left"
    assert after(50, 1000) == "the prompt is read, the first word is next"
    assert after(60, 100) == "reading the prompt: 100 of 1,000 tokens"  # another one
    assert after(10, 200, 300) == "reading the prompt: 200 of 300 tokens"
    other = describe(Prefilled("draft", 1, 2), "it").text
    assert other == "the guessing model reads it: 1 of 2 tokens"
    loading = describe(Loading("draft", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", 0.0)).text
    assert loading == "loading 2 of 2: Qwen2.5 Coder 0.5B"


def test_the_activity_is_named_at_80_columns_and_cut_for_want_of_space() -> None:
    texts = ["reading the prompt: 1,656 of 2,835 tokens, about 24 s left"]
    texts += ["the guessing model reads the prompt: 1,656 of 2,835 tokens"]
    for text in texts:
        for width in (60, 78):
            shown = line(State(loaded=True, activity=Activity(text, 0.6)), width)
            assert text[:20] in shown.plain
            assert shown.plain.endswith("…")
            assert shown.cell_length <= width
    for fraction, share in ((0.6, "60%"), (1.0, "100%")):
        state = State(tools=True, activity=Activity("loading Qwen2.5 Coder 1.5B", fraction))
        assert f"auto   {share}  loading Qwen" in line(state, 38).plain
