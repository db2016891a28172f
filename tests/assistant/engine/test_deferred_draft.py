"""A deferred draft: when it is loaded, and that the answer stays the same."""

import os
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from assistant.engine import loader, reply
from assistant.engine.control import Control
from assistant.engine.idle import prefill_idle
from assistant.engine.load import load
from assistant.engine.model_profile import LIMIT
from assistant.engine.profile import DRAFT_WIDTHS, PROFILES, WIDTHS, Profile
from assistant.events import Decoded, Token, Warned
from assistant.request import EngineArgs, Message, Request, Sampling
from models.errors import Cancelled
from models.native.model import NativeModel
from models.native.weights import Weights
from tests.assistant.engine.answering import answer, end, ids_of
from tests.engine import ENGINE

GREEDY = Sampling(temperature=0)
AFTER = 8


@pytest.fixture
def open_setup(tiny_target, tiny_draft, tmp_path, monkeypatch):
    """Load a pair as the engine does, whose costs were measured well before."""
    monkeypatch.setattr(reply, "DRAFT_AFTER", AFTER)
    setup = EngineArgs(tiny_target, tiny_draft, 512, threads=1, engine=ENGINE, cache=tmp_path)
    with ExitStack() as stack:
        assistant, _ = load(setup, Control(), lambda event: None, stack)
        assert isinstance(assistant.draft, NativeModel)  # nothing was known of the pair
        assert isinstance(assistant.target, NativeModel)
        profile = Profile(assistant.target, assistant.draft.conditions, tmp_path)
        for each, widths in ((profile.of_target, WIDTHS), (profile.of_draft, DRAFT_WIDTHS)):
            each.plain_s = [0.01] * LIMIT  # so many samples that no more are needed
            each.ratios = {n: [1 + n / 10] * LIMIT for n in (1, *widths)}
        profile.put()
    with ExitStack() as stack:

        def opened(**changes):
            control = Control()
            made: Any
            made, ready = load(
                replace(setup, **changes), control, lambda event: None, stack, may_defer=True
            )
            made.control = control
            return made, ready

        yield opened


def request(tokens: int, **changes: Any) -> Request:
    return replace(Request((Message("user", "Why?"),), GREEDY, max_tokens=tokens), **changes)


def test_a_short_answer_does_not_load_the_draft(open_setup):
    assistant, ready = open_setup()
    assert ready.draft.name
    short = 2 * AFTER - 1  # of which less than `AFTER` is left when a draft may be loaded
    assert end(answer(assistant, request(short))).stats.generated_tokens == short
    assert assistant.draft is None


def test_a_longer_answer_loads_the_deferred_draft_and_is_the_same(open_setup):
    assistant, _ = open_setup()
    begun = list[Token]()
    for event in assistant.reply(request(40), assistant.control):
        if isinstance(event, Decoded) and assistant.draft is None:
            begun += event.tokens
    assert AFTER <= len(begun) < 40
    assert assistant.draft.cached_tokens
    plain = ids_of(answer(assistant, request(40, mode="ars")))
    assert ids_of(answer(assistant, request(40))) == plain


@pytest.mark.parametrize("measure", [True, False])  # the shell does not, for a chosen lookahead
def test_a_chosen_lookahead_waits_for_no_more_than_the_first_token(open_setup, measure):
    assistant, ready = open_setup(measure=measure)
    assert ready.draft.name
    assert assistant.draft is None
    events = answer(assistant, request(6, mode="sps", lookahead=2))
    assert len(next(event for event in events if isinstance(event, Decoded)).tokens) == 1
    assert end(events).stats.drafted > 0
    assert ids_of(events) == ids_of(answer(assistant, request(6, mode="ars")))


@pytest.mark.parametrize("measure", [True, False])
@pytest.mark.parametrize("changes", [{"mode": "ars"}, {"sources": ("suffix",)}, {"lookahead": 0}])
def test_an_answer_without_model_drafts_never_loads_the_draft(open_setup, changes, measure):
    assistant, _ = open_setup(measure=measure)
    answer(assistant, request(40, **changes))
    assert assistant.draft is None


def test_an_idle_engine_loads_the_deferred_draft(open_setup):
    assistant, _ = open_setup()
    list(prefill_idle(assistant, request(40), assistant.control))
    assert assistant.draft.cached_tokens


def test_a_stopped_load_of_the_draft_is_tried_again(open_setup, monkeypatch):
    assistant, _ = open_setup()
    with monkeypatch.context() as patched:
        patched.setattr(Weights, "__init__", Mock(side_effect=Cancelled))
        assert AFTER <= end(answer(assistant, request(40))).stats.generated_tokens < 40
    answer(assistant, request(40))
    assert assistant.draft is not None


def test_a_draft_that_cannot_be_loaded_is_only_reported(open_setup, tiny_draft, tmp_path):
    copy = tmp_path / "draft.gguf"
    copy.write_bytes(tiny_draft.read_bytes())
    times = tiny_draft.stat()
    os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))
    assistant, _ = open_setup(draft=copy)
    assert assistant.deferred_draft
    copy.unlink()
    events = answer(assistant, request(40))
    (warning,) = [event.text for event in events if isinstance(event, Warned)]
    assert str(copy) in warning
    assert warning.endswith("continues without the draft model.")
    assert end(events).stats.generated_tokens == 40
    assert not [event for event in answer(assistant, request(40)) if isinstance(event, Warned)]


TYPICAL = {2: 1.2, 4: 1.7}, {1: 0.3, 2: 0.4}


@pytest.mark.parametrize("typical", [({}, {}), TYPICAL])
def test_typical_costs_defer_the_load_of_a_draft(open_setup, tmp_path, monkeypatch, typical):
    (tmp_path / PROFILES).unlink()
    monkeypatch.setattr(loader, "typical_costs", lambda target, draft: typical)
    assistant, _ = open_setup()
    assert assistant.draft is not None
    assert (4 in assistant.profile.of_target.ratios) is not any(typical)
    assert end(answer(assistant, request(40))).stats.generated_tokens == 40
    assistant.profile.save()
    if any(typical):
        assert open_setup()[0].draft is None
    assert open_setup(measure=False)[0].draft is None


@pytest.mark.parametrize("typical", [({}, {}), TYPICAL])
def test_a_draft_that_is_no_model_is_reported(open_setup, tmp_path, monkeypatch, typical):
    monkeypatch.setattr(loader, "typical_costs", lambda target, draft: typical)
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF")
    assistant, ready = open_setup(draft=damaged)
    assert str(damaged) in ready.no_draft
    assert assistant.profile.seconds[1] == {}
