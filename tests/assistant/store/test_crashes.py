"""Killed programs, and programs that share a store. SPECCHAT_KILLS=200 kills more often."""

import os
import random
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from assistant.store.database import BUSY_MS  # before tests replace it
from assistant.store.store import Store
from assistant.store.values import INTERRUPTED
from models.errors import StorageError
from tests import ROOT
from tests.assistant.store.conversations import answering, contents, integrity, opened, talk
from tests.patience import ALL
from tests.stored import ask, stream

KILLS = int(os.environ.get("SPECCHAT_KILLS", "12" if ALL else "6"))


def start(module: str, *arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", f"tests.assistant.store.{module}", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def killed_after(process: "subprocess.Popen[str]", seconds: float) -> list[list[str]]:
    """Kill a program that long after it first said something; return what it had said."""
    assert process.stdout
    first = process.stdout.readline()
    time.sleep(seconds)
    process.kill()
    output, _ = process.communicate()
    lines = (first + output).splitlines(keepends=True)
    return [line.split() for line in lines if line.endswith("\n")]


def kept(path: Path) -> dict[int, tuple[str, int, str | None]]:
    """State, length and stop of every message, as another instance finds them."""
    with closing(Store(path)) as store:
        assert store.warning is None
        records = [record for chat in store.summaries() for record in store.tree(chat.id)]
    return {record.id: (record.state, len(record.content), record.stop) for record in records}


def test_nothing_that_was_acknowledged_is_lost_by_kills(path):
    chance = random.Random("kills")
    acknowledged = 0
    for _ in range(KILLS):
        output = killed_after(start("endless_writer", path, 10_000), chance.uniform(0, 0.4))
        stored = kept(path)
        assert integrity(path) == "ok"
        assert all(state != "streaming" for state, _, _ in stored.values())
        for what, id_, length in output:
            state, kept_length, stop = stored[int(id_)]
            assert kept_length >= int(length)
            if what in ("asked", "ended"):
                assert (state, kept_length) == ("complete", int(length))
            else:
                assert state == "complete" or (state, stop) == ("failed", INTERRUPTED)
        acknowledged += len(output)
    assert acknowledged > KILLS
    print(f"\n{KILLS} kills, {acknowledged} acknowledged writes, none lost")


def test_an_answer_that_streams_elsewhere_is_left_alone_until_its_program_dies(path):
    living = opened(path)
    conversation, answer = answering(living)
    stream(living, answer.id, "so far")
    other = opened(path)
    assert other.path(conversation)[-1].state == "streaming"
    stream(living, answer.id, "so far so good")
    other.close()
    living.close()  # dies with the answer unfinished
    other = opened(path)
    last = other.path(conversation)[-1]
    assert (last.state, last.stop, last.content) == ("failed", INTERRUPTED, "so far so good")
    assert len(other.summaries("good")) == 1


def test_several_programs_may_make_the_store_and_write_at_once(path):
    programs = [start("endless_writer", path, 20) for _ in range(5)]
    for program in programs:
        program.communicate()
    assert {program.returncode for program in programs} == {0}
    store = opened(path)
    assert [each.messages for each in store.summaries()] == [40] * 5
    store.close()
    assert integrity(path) == "ok"


@pytest.fixture
def neighbour(store: Store, path) -> Store:
    """Another program's."""
    return opened(path)


def test_a_write_waits_longer_than_another_program_rewrites_a_large_file():
    """It takes 5 to 15 seconds for 500 MB; a chat that gives up is not saved from then on."""
    assert BUSY_MS >= 30_000


def test_messages_of_two_programs_below_one_message_become_branches(store, neighbour):
    conversation, records = talk(store, "Hi")
    for number in range(20):
        ask(neighbour, conversation, records[-1].id, f"theirs {number}")
        ask(store, conversation, records[-1].id, f"ours {number}")
    expected = {f"{whose} {number}" for whose in ("ours", "theirs") for number in range(20)}
    assert {record.content for record in store.tree(conversation)} >= expected
    assert len(store.path(conversation)[-1].siblings) == 40


def test_a_deleted_conversation_can_be_continued_in_another_program(store, neighbour, path):
    conversation, _ = talk(store, "Hi")
    store.delete(conversation)
    store.close()
    ask(neighbour, conversation, neighbour.path(conversation)[-1].id, "and I am not done")
    assert [each.id for each in neighbour.summaries()] == [conversation]
    neighbour.delete(conversation)
    assert contents(neighbour, conversation)[-1] == "and I am not done"
    neighbour.close()
    assert path.read_bytes().count(b"and I am not done") == 0
    with pytest.raises(StorageError, match="no conversation 1"):
        opened(path).path(conversation)


def test_a_conversation_removed_for_good_is_said_to_be_gone_where_it_is_open(store, neighbour):
    conversation, answer = answering(neighbour)
    store.remove(conversation)
    with pytest.raises(StorageError, match="deleted for good"):
        ask(neighbour, conversation, answer.id, "Still there?")
    with pytest.raises(StorageError, match="deleted for good"):
        stream(neighbour, answer.id, "so far")
