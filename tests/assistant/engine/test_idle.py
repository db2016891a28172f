"""`prefill_idle`: an idle prefill is not repeated, changes no answer, and yields at once."""

from dataclasses import replace

import pytest

from assistant.engine import idle
from assistant.engine.control import Control
from assistant.engine.reply import Assistant
from assistant.events import Prefilled
from assistant.request import Message, Request, Sampling
from models.errors import Cancelled
from tests import tiny
from tests.assistant.engine.answering import answer, end
from tests.assistant.engine.simulated_model import SimulatedModel

FILE = "def largest(numbers):\n    return max(numbers)\n" * 4
TYPED = Request((Message("system", "Be brief."), Message("user", f"{FILE}\nWhat do")))
ASKED = replace(
    TYPED,
    messages=(TYPED.messages[0], Message("user", f"{FILE}\nWhat does it return?")),
    sampling=Sampling(temperature=20, top_k=0, top_p=1),
    max_tokens=20,
    seed=3,
)


@pytest.fixture
def assistant(opened, tiny_target):
    return opened(tiny_target)


def prefill_idle(assistant, request=TYPED):
    return list(idle.prefill_idle(assistant, request, assistant.control))


def test_an_idle_prefill_is_not_repeated_by_either_model(opened, tiny_target, tiny_draft):
    fresh, assistant = (opened(tiny_target, tiny_draft) for _ in range(2))
    read = prefill_idle(assistant)
    assert [event.done for event in read] == sorted({event.done for event in read})
    assert read[-1].done == len(assistant.draft.cached_tokens) == read[-1].total - 1
    events = answer(assistant, ASKED)
    ending = "<|im_end|>\n<|im_start|>assistant\n"
    assert events[0].cached_tokens >= read[-1].total - len(ending)
    assert end(events).text == end(answer(fresh, ASKED)).text


def test_a_conversation_is_read_up_to_the_question_that_nobody_has_typed(assistant):
    answer(assistant, ASKED)
    path = (*ASKED.messages, Message("assistant", "The largest."), Message("user", ""))
    prefill_idle(assistant, replace(ASKED, messages=path))
    for question in ("Why?", "And for an empty list?"):
        asked = replace(ASKED, messages=(*path[:-1], Message("user", question)))
        assert answer(assistant, asked)[0].cached_tokens >= len(FILE) // 2


def test_an_idle_prefill_yields_to_another_job_and_resumes(assistant):
    reading = idle.prefill_idle(assistant, TYPED, assistant.control)
    first = next(reading)
    assert isinstance(first, Prefilled)
    assistant.control.cancel.raise_()
    with pytest.raises(Cancelled):
        list(reading)
    assert len(assistant.target.cached_tokens) == first.done
    assistant.control.cancel.lower()
    assert prefill_idle(assistant)[0].done > first.done


@pytest.mark.parametrize(
    ("each_s", "pieces"), [(0.01, {4, 8, 16, 25}), (0.2, {4, 1}), (0.0001, {4, 8, 256})]
)
def test_no_chunk_of_an_idle_prefill_takes_longer_than_a_job_may_wait(each_s, pieces):
    model = SimulatedModel(lambda tokens, depth: each_s * tokens)
    read = list(idle._prefill(model, list(range(600)), 4, model.clock))
    assert read[-1].end == sum(piece.tokens for piece in read) == 600
    assert pieces <= {*model.widths}
    assert all(each_s * width <= max(idle.CHUNK_S, each_s) for width in model.widths[1:])


def test_a_target_that_cannot_roll_back_is_not_prefilled_while_idle(open_model, tmp_path):
    model = open_model(tiny.write(tmp_path / "mamba.gguf", kind="mamba"))
    assistant = Assistant(model, model.weights.vocab)
    assert not list(idle.prefill_idle(assistant, TYPED, Control()))
    assert not model.cached_tokens


def test_a_snapshot_on_disk_is_restored_before_an_idle_prefill(assistant):
    begun = []

    class Resumed:
        def prepare(self, tokens, stored):
            begun.append((len(tokens), stored))

    assistant.prompt_cache = Resumed()
    total = prefill_idle(assistant, replace(TYPED, stored=True))[-1].total
    assert begun == [(total, True)]


def test_a_resumed_idle_prefill_has_chunks_as_large_as_before(assistant):
    text = replace(TYPED, messages=(Message("user", FILE * 4),))
    reading = idle.prefill_idle(assistant, text, assistant.control)
    *_, before, end = [next(reading).done for _ in range(4)]
    assistant.control.cancel.raise_()
    with pytest.raises(Cancelled):
        list(reading)
    assistant.control.cancel.lower()
    resumed = next(idle.prefill_idle(assistant, text, assistant.control)).done
    assert resumed - end >= end - before > 4
