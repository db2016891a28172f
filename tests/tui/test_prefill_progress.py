"""The progress of a prefill, as text."""

from assistant.events import Loading, Prefilled
from tui import reading
from tui.chat.status import State, line
from tui.reading import Activity, AnswerProgress


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
