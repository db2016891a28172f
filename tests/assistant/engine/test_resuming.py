"""What was read of stored conversations comes back from disk, and of others nothing is there."""

import os
import random
from contextlib import contextmanager

import pytest

from assistant.engine.resume import MIN_TOKENS_KEPT, Resuming
from assistant.request import EngineArgs
from models.base import common_prefix
from models.files.snapshots import discard
from models.native.engine import EngineLibrary
from models.native.model import NativeModel
from tests import tiny
from tests.assistant.engine.answering import loaded
from tests.engine import ENGINE, llama_alone
from tests.models.test_llama_cache import assert_same, fresh, random_tokens, tiny_model

CHAT = random_tokens(random.Random(1), 400)
OTHER = random_tokens(random.Random(2), 400)
ANSWER = random_tokens(random.Random(3), 90)


class Slow(NativeModel):
    """A model that claims to read slowly."""

    seconds_a_token = 0.02  # 100 tokens are worth a snapshot


@pytest.fixture
def places(tmp_path):
    return tmp_path / "snapshots"


@pytest.fixture
def start(open_model, tiny_target, places):
    """Start a model again, as after the program was closed."""
    opened: list[Resuming] = []

    def start(kind: type[NativeModel] = Slow, identity: str = "a", room: int = 1 << 30):
        model = kind(open_model(tiny_target).weights, n_ctx=1024, threads=1)
        resuming = Resuming(model, identity, room, places)
        opened.append(resuming)
        return model, resuming

    yield start
    for resuming in opened:
        resuming.close()
        resuming._model.close()


def answer(model, resuming, prompt, stored=True, said=ANSWER):
    tokens = list(prompt)
    resuming.begin(tokens, stored)
    found = model.cached(prompt)
    tokens += said
    model.logits([*tokens, 9, 9, 9])  # a draft that was rejected
    return found


def kept(start, **how):
    """Start a model, and keep what it has read of a conversation."""
    model, resuming = start(**how)
    answer(model, resuming, CHAT)
    resuming.keep()
    return model, resuming


def files(places):
    return sorted(places.iterdir()) if places.exists() else []


def test_a_conversation_of_yesterday_is_not_read_again(start):
    model, resuming = start()
    assert answer(model, resuming, CHAT) == 0
    expected = model.logits([*CHAT, *ANSWER, 7]).copy()
    resuming.keep()
    model, resuming = start()
    resuming.begin([*CHAT, *ANSWER], stored=True)
    assert model.held == (*CHAT, *ANSWER)
    assert (model.logits([*CHAT, *ANSWER, 7]) == expected).all()


def test_leaving_a_conversation_keeps_it(start, places):
    model, resuming = start()
    answer(model, resuming, CHAT)
    assert files(places) == []
    assert answer(model, resuming, OTHER) == 0
    assert len(files(places)) == 1
    assert answer(model, resuming, CHAT) == len(CHAT)
    assert len(files(places)) == 2


def test_the_one_that_spares_most_is_taken(start):
    model, resuming = start()
    for prompt in (CHAT, CHAT[:200] + OTHER[:150], OTHER):
        answer(model, resuming, prompt)
        resuming.keep()
    model, resuming = start()
    assert answer(model, resuming, CHAT[:200] + OTHER) == 350


def test_what_comes_back_for_a_question_that_differs_is_what_both_begin_with(tmp_path):
    """Else the model would continue from a text that nobody sees."""
    with tiny_model(tmp_path) as model:
        read, again = (Slow(model.weights, n_ctx=1024, threads=1) for _ in range(2))
        for slow, prompt in ((read, CHAT), (again, CHAT[:200] + OTHER)):
            resuming = Resuming(slow, "a", 1 << 30, tmp_path / "snapshots")
            resuming.begin(prompt, stored=True)
            assert slow.held == tuple(CHAT[:200] if slow is again else ())
            assert_same(slow.logits(prompt), fresh(model, prompt))
            resuming.keep()
            resuming.close()
            slow.close()


def test_what_is_not_stored_leaves_nothing_on_disk(start, places):
    model, resuming = start()
    answer(model, resuming, CHAT, stored=False)
    resuming.keep()
    answer(model, resuming, OTHER, stored=False)
    resuming.keep()
    assert not places.exists()


def test_a_private_conversation_between_stored_ones_is_never_kept(start):
    model, resuming = start()
    private = [*CHAT, *OTHER]
    answer(model, resuming, CHAT)
    resuming.keep()
    answer(model, resuming, private, stored=False)
    resuming.keep()
    resuming.begin(CHAT, stored=True)  # stopped before anything is computed
    resuming.keep()
    assert model.held == tuple(CHAT)
    answer(model, resuming, [*CHAT, *ANSWER, *OTHER[:200]])
    resuming.keep()
    held = [found.tokens for found in resuming._snapshots.find()]
    assert all(common_prefix(tokens, private) <= len(CHAT) for tokens in held)


def test_a_private_conversation_reads_no_snapshot(start):
    kept(start)
    model, resuming = start()
    assert answer(model, resuming, CHAT, stored=False) == 0


def test_a_deletion_leaves_nothing_of_what_was_computed_before_it(start, places):
    model, resuming = start()
    answer(model, resuming, CHAT)
    discard(places)
    resuming.keep()
    assert not places.exists()
    answer(model, resuming, OTHER)
    resuming.keep()
    assert len(files(places)) == 1


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "foreign"])
def test_a_bad_snapshot_never_reaches_llama_cpp(start, places, monkeypatch, damage):
    model, resuming = kept(start)
    (path,) = files(places)
    data = bytearray(path.read_bytes())
    data[-100] ^= damage == "flip"
    del data[{"cut": -100, "empty": 0}.get(damage, len(data)) :]
    path.write_bytes(data)
    handed: list[int] = []
    monkeypatch.setattr(Slow, "restore", lambda self, tokens, copy: handed.append(len(tokens)))
    model, resuming = start(identity="b" if damage == "foreign" else "a")
    assert answer(model, resuming, CHAT) == 0
    assert handed == []
    assert (path in files(places)) == (damage != "flip")


def test_what_is_read_in_no_time_is_not_written(start, places):
    model, resuming = start(NativeModel)
    answer(model, resuming, CHAT)
    assert model.seconds_a_token is not None
    resuming.keep()
    assert files(places) == []


def test_a_short_turn_writes_nothing_new(start, places):
    model, resuming = kept(start)
    before = files(places)
    answer(model, resuming, [*CHAT, *ANSWER], said=[1] * 50)
    resuming.keep()
    assert files(places) == before
    answer(model, resuming, [*CHAT, *ANSWER, *OTHER[:100]])
    resuming.keep()
    assert len(files(places)) == 1
    assert files(places) != before


def test_a_few_tokens_are_not_worth_a_look(start):
    kept(start)
    model, resuming = start()
    assert answer(model, resuming, [*CHAT[: MIN_TOKENS_KEPT - 1], *OTHER]) == 0
    model, resuming = start()
    assert answer(model, resuming, [*CHAT[:MIN_TOKENS_KEPT], *OTHER]) == MIN_TOKENS_KEPT


def test_no_room_means_no_snapshots(start, places):
    kept(start, room=0)
    assert not places.exists()


def test_a_folder_that_cannot_be_made_is_no_obstacle(start, places):
    places.write_text("a file")
    kept(start)
    assert places.read_text() == "a file"


def test_a_model_that_cannot_roll_back_tokens_only_continues(start):
    model, resuming = kept(start)
    for prompt, found in (
        ([*CHAT, *ANSWER, 5], len(CHAT) + len(ANSWER)),
        ([*CHAT, *ANSWER], 0),
        ([*CHAT, 5], 0),
    ):
        model, resuming = start()
        model.rollback = 0
        assert answer(model, resuming, prompt) == found


@contextmanager
def slow(path, n_ctx, monkeypatch):
    """Load a model that reads slowly enough for its snapshots to be kept."""
    monkeypatch.setattr(NativeModel, "seconds_a_token", Slow.seconds_a_token)
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
        answer(assistant.target, assistant.resuming, CHAT, stored=False)
        expected = assistant.target.logits([*CHAT, 7]).copy()
    with slow(longrope, 1536 - n_ctx, monkeypatch) as assistant:
        answer(assistant.target, assistant.resuming, CHAT)
        other = assistant.target.logits([*CHAT, 7]).copy()
    assert (other != expected).any()  # else it would not matter
    with slow(longrope, n_ctx, monkeypatch) as assistant:
        found = answer(assistant.target, assistant.resuming, CHAT)
        assert (assistant.target.logits([*CHAT, 7]) == expected).all()
        assert found == 0
    with slow(longrope, n_ctx, monkeypatch) as assistant:
        assert answer(assistant.target, assistant.resuming, CHAT) == len(CHAT)


@llama_alone
def test_a_snapshot_of_another_build_of_the_library_is_read_again(longrope, monkeypatch):
    with slow(longrope, 512, monkeypatch) as assistant:
        answer(assistant.target, assistant.resuming, CHAT)
    monkeypatch.setattr(EngineLibrary, "build", lambda engine: "another")
    with slow(longrope, 512, monkeypatch) as assistant:
        assert answer(assistant.target, assistant.resuming, CHAT) == 0


def test_a_model_whose_name_is_no_text_has_snapshots_too(tmp_path, monkeypatch):
    path = tmp_path / os.fsdecode(b"\xff\xfe model.gguf")
    tiny.write(tmp_path / "model.gguf").rename(path)
    for found in (0, len(CHAT)):
        with slow(path, 512, monkeypatch) as assistant:
            assert answer(assistant.target, assistant.resuming, CHAT) == found
