"""Invariants of every answer, in a conversation with random settings."""

import random

import pytest

from assistant.events import Decoded, Event, Finished, Origin, Prepared, Stop
from assistant.request import Message, Request, Sampling
from tests import tiny
from tests.assistant.engine.answering import answer, spoken
from tests.patience import ALL

WORDS = ("sky", "blue", "<|im_end|>", "é😀", "\n\n", "def f():", "a" * 50, "\ue000", "")


def random_request(rng: random.Random, messages: list[Message]) -> Request:
    sampling = Sampling(
        temperature=rng.choice((0, 0.7, 5, 30, 100)),
        top_k=rng.choice((0, 1, 5, 40)),
        top_p=rng.choice((1, 0.9, 0.3)),
        min_p=rng.choice((0, 0.05)),
        repeat_penalty=rng.choice((1, 1.3, 3)),
    )
    return Request(
        tuple(messages),
        sampling,
        mode=rng.choice(("ars", "sps", "sps", "auto")),
        lookahead=rng.choice((None, 0, 1, 2, 5, 31)),
        max_tokens=rng.choice((1, 2, 7, 30, None)),
        seed=rng.randrange(99),
        stop_strings=rng.choice(((), (), ("e",), ("\n", "ab"))),
    )


def check(request: Request, events: list[Event], n_ctx: int) -> Finished:
    prepared, *middle, finished = events
    assert isinstance(prepared, Prepared)
    assert isinstance(finished, Finished)
    decoded = [event for event in middle if isinstance(event, Decoded)]
    tokens = [token for event in decoded for token in event.tokens]
    stats, origins = finished.stats, [token.origin for token in tokens]
    shown = "".join(token.text for token in tokens)
    assert finished.text.startswith(shown)
    assert set(finished.text[len(shown) :]) <= {"\ufffd"}
    assert not any(string in finished.text for string in request.stop_strings)
    assert all(token.target_prob > 0 for token in tokens)
    assert all((token.origin is Origin.DRAFT) <= bool(token.draft_prob) for token in tokens)
    assert stats.generated_tokens <= (request.max_tokens or n_ctx)
    assert stats.accepted <= stats.tested <= stats.drafted
    assert stats.generated_tokens <= stats.rounds + stats.accepted
    assert sum(stats.lookahead_counts.values()) == stats.rounds == len(decoded)
    assert sum(k * n for k, n in stats.lookahead_counts.items()) == stats.drafted
    assert Origin.RESIDUAL not in origins  # with a seed
    used = [event.context_used for event in decoded]
    assert used == sorted(used)
    assert max(used) == prepared.prompt_tokens + stats.generated_tokens <= n_ctx
    if finished.stop is Stop.LENGTH:
        assert stats.generated_tokens == request.max_tokens
    if finished.stop is Stop.STOP_STRING:
        assert finished.token_ids == ()
    else:
        kept = [token for token in tokens if token.text or finished.stop is not Stop.STOP_TOKEN]
        assert len(finished.token_ids) in (len(kept), len(tokens), len(tokens) - 1)
        assert len(tokens) == stats.generated_tokens
        assert origins.count(Origin.DRAFT) == stats.accepted
    return finished


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.some(2)
def test_every_answer_of_random_conversations_holds_all_invariants(opened, tmp_path, seed):
    target = tiny.write(tmp_path / "target.gguf", seed=1)
    draft = tiny.write(tmp_path / "draft.gguf", seed=2, like=1)
    rng = random.Random(seed)
    stops = set()
    assistant = opened(target, draft, n_ctx=512, draft_ctx=rng.choice((256, 512)))
    messages = [Message("system", "Be brief.")]
    for _ in range(60 if ALL else 25):
        messages.append(Message("user", " ".join(rng.choices(WORDS, k=rng.randrange(6)))))
        request = random_request(rng, messages)
        finished = check(request, answer(assistant, request), 512)
        assert spoken(assistant).startswith("system\nBe brief.\n")
        assert messages[-1].content in spoken(assistant)
        stops.add(finished.stop)
        messages.append(Message("assistant", finished.text, finished.token_ids))
        if rng.random() < 0.05:
            messages = messages[:1]
    assert Stop.LENGTH in stops
    assert len(stops) >= 3
