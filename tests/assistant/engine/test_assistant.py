"""`Assistant`: whole answers of tiny models, their events, caches, and continuation."""

import pytest

from assistant.decoding.lookahead.forecast import Reason
from assistant.events import Decoded, Prepared, Stop
from assistant.request import Message
from tests import tiny
from tests.assistant.engine.answering import QUESTION, answer, ask, ids_of


@pytest.fixture
def assistant(opened, tiny_target, tiny_draft):
    return opened(tiny_target, tiny_draft)


def test_of_a_cached_prompt_only_the_last_token_is_evaluated(opened, tmp_path):
    assistant = opened(tiny.write(tmp_path / "t.gguf"))
    first, second = (answer(assistant, ask())[0] for _ in range(2))
    assert second == Prepared(first.prompt_tokens, first.prompt_tokens - 1, 0)


def test_the_first_token_waits_for_no_draft(opened, tmp_path):
    assistant = opened(tiny.write(tmp_path / "t.gguf"), tiny.write(tmp_path / "d.gguf"))
    rounds = [event for event in answer(assistant, ask()) if isinstance(event, Decoded)]
    assert [event.lookahead for event in rounds[:2]] == [0, 3]
    assert (rounds[0].forecast and rounds[0].forecast.reason) is Reason.FIRST


def test_the_second_turn_evaluates_only_its_new_tokens_in_both_models(assistant):
    first = answer(assistant, ask())
    reply = Message("assistant", first[-1].text, first[-1].token_ids)
    again = [*QUESTION, reply, Message("user", "And at night?")]
    second = answer(assistant, ask(again))
    before = first[0].prompt_tokens + 40
    # The last token decoded was never fed: nobody asked what follows it.
    assert before - 1 - 3 <= second[0].cached_tokens <= before
    assert second[0].prompt_tokens > before
    draft = assistant.draft
    conversation = assistant.chat.encode(again)
    assert draft.cached(conversation) == len(conversation)


@pytest.mark.parametrize("mode", ["ars", "sps"])
def test_a_cancelled_answer_stays_in_the_cache(opened, assistant, tiny_target, tiny_draft, mode):
    control = assistant.control
    control.mode, control.lookahead = mode, 3
    events = []
    for event in assistant.reply(ask(mode=mode, max_tokens=500), control):
        events.append(event)
        if len(ids_of(events)) >= 20:
            control.cancel.raise_()
    control.cancel.lower()
    finished = events[-1]
    assert finished.stop is Stop.CANCELLED
    assert list(finished.token_ids) == ids_of(events)
    assert len(finished.token_ids) < 30
    reply = Message("assistant", finished.text, finished.token_ids)
    request = ask([*QUESTION, reply, Message("user", "Go on")], mode=mode)
    here = answer(assistant, request)
    assert here[0].cached_tokens >= events[0].prompt_tokens + len(finished.token_ids) - 1
    assert ids_of(answer(opened(tiny_target, tiny_draft), request)) == ids_of(here)


def test_the_time_of_an_answer_is_split_between_draft_target_and_host(assistant):
    stats = answer(assistant, ask())[-1].stats
    assert stats.draft_s > 0
    assert stats.verify_s > 0
    assert stats.draft_s + stats.verify_s + stats.host_s == pytest.approx(stats.decode_s)
    assert answer(assistant, ask(mode="ars"))[-1].stats.draft_s == 0
