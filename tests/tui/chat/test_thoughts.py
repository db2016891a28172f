"""Thoughts in the chat: one live line, opened by a key, never part of the answer."""

from dataclasses import replace

from assistant.events import Stats, Step
from tests.tui.chat.chat_driver import open_chat
from tests.tui.chat.turns import TARGET, answer, open_page, text_of, token
from tui.chat.conversation.answer import Answer
from tui.chat.conversation.thought import Thought
from tui.text.text_view import as_step
from tui.text.token_styles import COLOURED, THOUGHT, kind


def thought(text: str) -> Step:
    return Step((replace(token(text, TARGET, None), part="thought"),))


MARKER = Step((replace(token("</think>\n", TARGET, None), part="marker"),))
HALF = Stats("ars", thought_tokens=1340, thought_s=12.4)
STORED = Stats("ars", generated_tokens=9, thought_tokens=7, thought_s=3.0)


def test_a_thought_looks_dim_and_a_copied_token_in_it_as_ever() -> None:
    assert kind(thought("a").tokens[0]) == kind(MARKER.tokens[0]) == THOUGHT
    assert kind(replace(token("a"), part="thought")) == "draft"
    assert COLOURED[THOUGHT]


async def test_a_thought_is_one_live_line_and_opens_at_a_key() -> None:
    async with open_page() as page:
        answer = await page.stream()
        answer.focus()
        await page.settle()
        for text in ("Hm, the sky ", "is blue because"):
            answer.add(thought(text))
        answer.show_stats(HALF)
        await page.settle()
        line = "▸ Thinking · 12 s · 1,340 tokens · …Hm, the sky is blue because"
        assert answer.thought.line == line
        assert answer.text == ""
        assert "Thought" in "".join(str(key.render()) for key in page.app.query("FooterKey"))
        await page.press("t")
        assert "▾ Thinking · 12 s · 1,340 tokens" in page.text
        assert "  Hm, the sky is blue because" in page.text
        assert answer.thought._view.kinds == {THOUGHT}
        for step in (MARKER, as_step("It scatters.")):
            answer.add(step)
            answer.show_stats(replace(HALF, thought_tokens=1341))
        await page.settle()
        assert (answer.text, text_of(answer)) == ("It scatters.", "It scatters.▍")
        await page.press("t")
        await page.end(answer)
        assert "▸ Thought for 12 s · 1,341 tokens" in page.text
        assert "Hm, the sky" not in page.text
        assert "think>" not in page.text


async def test_a_thought_that_goes_on_after_a_stop_is_live_again() -> None:
    record = answer(1, "", thought="Hm, ", stats=HALF, state="stopped")
    async with open_page(record) as page:
        shown = page.view.query_one(Answer)
        assert "▸ Thought for 12 s · 1,340 tokens" in page.text
        shown.add(thought("the sky"))
        shown.show_stats(replace(HALF, thought_tokens=1342))
        await page.settle()
        assert "▸ Thinking · 12 s · 1,342 tokens · …Hm, the sky" in page.text


async def test_a_stored_thought_is_folded_and_copying_takes_the_answer_alone() -> None:
    record = answer(1, "It scatters.", thought="Hm.", stats=STORED)
    async with open_page(record) as page:
        shown = page.view.turns[0]
        assert "▸ Thought for 3 s · 7 tokens" in page.text
        assert "Hm." not in page.text
        shown.focus()
        await page.press("t", "c")
        assert "Hm." in page.text
        assert page.wanted == [("copy", "It scatters.")]
        page.view.switch(thoughts=True)
        page.view.switch(thoughts=False)
        await page.settle()
        assert "Hm." not in page.text
        await page.open([answer(2), answer(3, "", thought="Hm.", stats=STORED)])
        assert "the model ended its turn while thinking" in page.text
        page.view.turns[0].focus()
        await page.settle()
        assert page.keys().get("t") is None
        assert sum(thought.display for thought in page.app.query(Thought)) == 1


async def test_a_stop_in_mid_thought_keeps_it_and_going_on_goes_on_there(thinking_target) -> None:
    async with open_chat(thinking_target, max_tokens=10, thinking_budget=14, draft=None) as chat:
        state = chat.path
        await chat.ask("Why?")
        first = state.records[-1]
        assert (first.content, first.state) == ("", "stopped")
        assert first.thought
        await chat.act("n")
        await chat.act("n")
        assert state.conversation is not None
        for last in (state.records[-1], chat.store.path(state.conversation)[-1]):
            assert last.thought.startswith(first.thought)
            assert last.content
            assert last.stats is not None
            assert last.stats.thought_tokens == 14 + len("</think>")
