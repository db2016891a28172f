"""`PromptCache`: KV states of stored conversations come back from disk, and of no others."""

import os
import random
from contextlib import contextmanager

import pytest

from assistant.engine.prompt_cache import MIN_TOKENS_SAVED, PromptCache
from assistant.request import EngineArgs
from models.base import common_prefix_length
from models.files.snapshots import discard
from models.native.engine import EngineLibrary
from models.native.model import NativeModel
from tests import tiny
from tests.assistant.engine.answering import loaded
from tests.engine import ENGINE, llama_alone
from tests.models.evaluations import assert_same, fresh, random_tokens

CHAT = random_tokens(random.Random(1), 400)
OTHER = random_tokens(random.Random(2), 400)
ANSWER = random_tokens(random.Random(3), 90)


class Slow(NativeModel):
    """A model that claims to read slowly."""

    seconds_per_token = 0.02  # 100 tokens are worth a snapshot


@pytest.fixture
def places(tmp_path):
    return tmp_path / "snapshots"


@pytest.fixture
def start(open_model, tiny_target, places):
    """Start a model again, as after the program was closed."""
    opened: list[PromptCache] = []

    def start(
        kind: type[NativeModel] = Slow, identity: str = "a", budget: int = 1 << 30, memory: int = 0
    ):
        model = kind(open_model(tiny_target).weights, n_ctx=1024, threads=1)
        prompt_cache = PromptCache(model, identity, budget, places, memory)
        opened.append(prompt_cache)
        return model, prompt_cache

    yield start
    for prompt_cache in opened:
        prompt_cache.close()
        prompt_cache._model.close()


def answer(model, prompt_cache, prompt, stored=True, said=ANSWER):
    tokens = list(prompt)
    prompt_cache.prepare(tokens, stored)
    found = model.cached(prompt)
    tokens += said
    model.logits([*tokens, 9, 9, 9])  # a draft that was rejected
    return found


def kept(start, **how):
    """Start a model, and keep what it has read of a conversation."""
    model, prompt_cache = start(**how)
    answer(model, prompt_cache, CHAT)
    prompt_cache.save()
    return model, prompt_cache


def files(places):
    return sorted(places.iterdir()) if places.exists() else []


def test_a_stored_conversation_is_restored_after_a_restart(start):
    model, prompt_cache = start()
    assert answer(model, prompt_cache, CHAT) == 0
    expected = model.logits([*CHAT, *ANSWER, 7]).copy()
    prompt_cache.save()
    model, prompt_cache = start()
    prompt_cache.prepare([*CHAT, *ANSWER], stored=True)
    assert model.cached_tokens == (*CHAT, *ANSWER)
    assert (model.logits([*CHAT, *ANSWER, 7]) == expected).all()


def test_another_conversation_saves_the_one_before(start, places):
    model, prompt_cache = start()
    answer(model, prompt_cache, CHAT)
    assert files(places) == []
    assert answer(model, prompt_cache, OTHER) == 0
    assert len(files(places)) == 1
    assert answer(model, prompt_cache, CHAT) == len(CHAT)
    assert len(files(places)) == 2


def test_the_snapshot_with_the_longest_common_prefix_is_restored(start):
    model, prompt_cache = start()
    for prompt in (CHAT, CHAT[:200] + OTHER[:150], OTHER):
        answer(model, prompt_cache, prompt)
        prompt_cache.save()
    model, prompt_cache = start()
    assert answer(model, prompt_cache, CHAT[:200] + OTHER) == 350


def test_the_snapshot_for_a_question_that_differs_is_cut_to_the_common_prefix(open_tiny, tmp_path):
    """Else the model would continue from a text that nobody sees."""
    model = open_tiny()
    read, again = (Slow(model.weights, n_ctx=1024, threads=1) for _ in range(2))
    for slow, prompt in ((read, CHAT), (again, CHAT[:200] + OTHER)):
        prompt_cache = PromptCache(slow, "a", 1 << 30, tmp_path / "snapshots")
        prompt_cache.prepare(prompt, stored=True)
        assert slow.cached_tokens == tuple(CHAT[:200] if slow is again else ())
        assert_same(slow.logits(prompt), fresh(model, prompt))
        prompt_cache.save()
        prompt_cache.close()
        slow.close()


def test_a_conversation_that_is_not_stored_leaves_nothing_on_disk(start, places):
    model, prompt_cache = start()
    answer(model, prompt_cache, CHAT, stored=False)
    prompt_cache.save()
    answer(model, prompt_cache, OTHER, stored=False)
    prompt_cache.save()
    assert not places.exists()


@pytest.mark.parametrize("memory", [0, 1000, 1 << 29])
def test_a_conversation_that_is_not_stored_is_resumed_from_memory(start, places, memory):
    model, prompt_cache = start(memory=memory, budget=0)
    answer(model, prompt_cache, CHAT, stored=False)
    expected = model.logits([*CHAT, *ANSWER, 7]).copy()
    for other in (OTHER, OTHER[:100]):
        answer(model, prompt_cache, other, stored=False)
        prompt_cache.prepare([*CHAT, *ANSWER, 7], stored=False)
        if memory <= 1000:
            assert model.cached_tokens == ()
        else:
            assert len(model.cached_tokens) >= len([*CHAT, *ANSWER])
            assert (model.logits([*CHAT, *ANSWER, 7]) == expected).all()
    assert not places.exists()


def test_a_private_conversation_between_stored_ones_is_never_saved_and_reads_no_snapshot(start):
    model, prompt_cache = kept(start)
    private, (again, its_cache) = [*CHAT, *OTHER], start()
    assert answer(again, its_cache, CHAT, stored=False) == 0
    answer(model, prompt_cache, private, stored=False)
    prompt_cache.save()
    prompt_cache.prepare(CHAT, stored=True)  # stopped before anything is computed
    prompt_cache.save()
    assert model.cached_tokens == tuple(CHAT)
    answer(model, prompt_cache, [*CHAT, *ANSWER, *OTHER[:200]])
    prompt_cache.save()
    cached_tokens = [found.tokens for found in prompt_cache._snapshots.find()]
    assert all(common_prefix_length(tokens, private) <= len(CHAT) for tokens in cached_tokens)


def test_a_deletion_leaves_nothing_of_what_was_computed_before_it(start, places):
    model, prompt_cache = start()
    answer(model, prompt_cache, CHAT)
    discard(places)
    prompt_cache.save()
    assert not places.exists()
    answer(model, prompt_cache, OTHER)
    prompt_cache.save()
    assert len(files(places)) == 1


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "foreign"])
def test_a_bad_snapshot_never_reaches_llama_cpp(start, places, monkeypatch, damage):
    model, prompt_cache = kept(start)
    (path,) = files(places)
    data = bytearray(path.read_bytes())
    data[-100] ^= damage == "flip"
    del data[{"cut": -100, "empty": 0}.get(damage, len(data)) :]
    path.write_bytes(data)
    handed: list[int] = []
    monkeypatch.setattr(Slow, "restore", lambda self, tokens, copy: handed.append(len(tokens)))
    model, prompt_cache = start(identity="b" if damage == "foreign" else "a")
    assert answer(model, prompt_cache, CHAT) == 0
    assert handed == []
    assert (path in files(places)) == (damage != "flip")


def test_a_prompt_prefilled_in_no_time_is_not_written(start, places):
    model, prompt_cache = start(NativeModel)
    answer(model, prompt_cache, CHAT)
    assert model.seconds_per_token is not None
    prompt_cache.save()
    assert files(places) == []


def test_a_short_turn_writes_nothing_new(start, places):
    model, prompt_cache = kept(start)
    before = files(places)
    answer(model, prompt_cache, [*CHAT, *ANSWER], said=[1] * 50)
    prompt_cache.save()
    assert files(places) == before
    answer(model, prompt_cache, [*CHAT, *ANSWER, *OTHER[:100]])
    prompt_cache.save()
    assert len(files(places)) == 1
    assert files(places) != before


def test_a_snapshot_that_saves_few_tokens_is_not_restored(start):
    kept(start)
    model, prompt_cache = start()
    assert answer(model, prompt_cache, [*CHAT[: MIN_TOKENS_SAVED - 1], *OTHER]) == 0
    model, prompt_cache = start()
    assert answer(model, prompt_cache, [*CHAT[:MIN_TOKENS_SAVED], *OTHER]) == MIN_TOKENS_SAVED


def test_a_budget_of_0_writes_no_snapshots_and_a_folder_that_cannot_be_made_none(start, places):
    kept(start, budget=0)
    assert not places.exists()
    places.write_text("a file")
    kept(start)
    assert places.read_text() == "a file"


def test_a_model_that_cannot_roll_back_tokens_only_continues(start):
    model, prompt_cache = kept(start)
    for prompt, found in (
        ([*CHAT, *ANSWER, 5], len(CHAT) + len(ANSWER)),
        ([*CHAT, *ANSWER], 0),
        ([*CHAT, 5], 0),
    ):
        model, prompt_cache = start()
        model.rollback = 0
        assert answer(model, prompt_cache, prompt) == found


@contextmanager
def slow(path, n_ctx, monkeypatch):
    """Load a model that reads slowly enough for its snapshots to be kept."""
    monkeypatch.setattr(NativeModel, "seconds_per_token", Slow.seconds_per_token)
    setup = EngineArgs(path, n_ctx=n_ctx, threads=1, engine=ENGINE, measure=False)
    with loaded(setup) as (assistant, _):
        yield assistant


@pytest.fixture
def longrope(tmp_path):
    """A model whose keys are of another kind in contexts of more than 512 tokens."""
    return tiny.write(tmp_path / "longrope.gguf", n_ctx=2048, longrope=512)


@llama_alone
@pytest.mark.parametrize("n_ctx", [512, 1024])
def test_a_snapshot_of_another_context_size_is_read_again(longrope, monkeypatch, n_ctx):
    with slow(longrope, n_ctx, monkeypatch) as assistant:
        answer(assistant.target, assistant.prompt_cache, CHAT, stored=False)
        expected = assistant.target.logits([*CHAT, 7]).copy()
    with slow(longrope, 1536 - n_ctx, monkeypatch) as assistant:
        answer(assistant.target, assistant.prompt_cache, CHAT)
        other = assistant.target.logits([*CHAT, 7]).copy()
    assert (other != expected).any()  # else it would not matter
    with slow(longrope, n_ctx, monkeypatch) as assistant:
        found = answer(assistant.target, assistant.prompt_cache, CHAT)
        assert (assistant.target.logits([*CHAT, 7]) == expected).all()
        assert found == 0
    with slow(longrope, n_ctx, monkeypatch) as assistant:
        assert answer(assistant.target, assistant.prompt_cache, CHAT) == len(CHAT)


@llama_alone
def test_a_snapshot_of_another_build_of_the_library_is_read_again(longrope, monkeypatch):
    with slow(longrope, 512, monkeypatch) as assistant:
        answer(assistant.target, assistant.prompt_cache, CHAT)
    monkeypatch.setattr(EngineLibrary, "build", lambda engine: "another")
    with slow(longrope, 512, monkeypatch) as assistant:
        assert answer(assistant.target, assistant.prompt_cache, CHAT) == 0


def test_a_model_whose_name_is_no_text_has_snapshots_too(tmp_path, monkeypatch):
    path = tmp_path / os.fsdecode(b"\xff\xfe model.gguf")
    tiny.write(tmp_path / "model.gguf").rename(path)
    for found in (0, len(CHAT)):
        with slow(path, 512, monkeypatch) as assistant:
            assert answer(assistant.target, assistant.prompt_cache, CHAT) == found
