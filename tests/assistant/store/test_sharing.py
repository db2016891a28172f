"""One conversation in two instances, which are two processes: it is told, and nothing is lost."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.store import Store
from tests.assistant.store.talks import contents, opened, talk

ROOT = Path(__file__).parents[3]


class Neighbour:
    """Another instance, in a process of its own."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.assistant.store.neighbour", str(path)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def do(self, what: str) -> str:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def neighbour(path: Path, store: Store) -> Iterator[Neighbour]:
    another = Neighbour(path)
    yield another
    another.kill()


def texts(store: Store, conversation: int) -> set[str]:
    return {record.content for record in store.tree(conversation)}


def test_the_second_to_open_a_conversation_is_told_and_the_first_is_not(store, neighbour):
    conversation, other = talk(store, "Hi")[0], talk(store, "Ho")[0]
    assert not store.enter(conversation)
    assert not store.enter(conversation)  # it is not elsewhere because it is here
    assert neighbour.do(f"enter {other}") == "False"
    assert neighbour.do(f"enter {conversation}") == "True"
    assert not store.is_open_elsewhere(other)  # one is left when another is entered
    assert store.is_open_elsewhere(conversation)


@pytest.mark.parametrize("end", ["leave", "close", "kill"])
def test_what_was_left_is_open_elsewhere_no_more(store, neighbour, end):
    conversation = talk(store, "Hi")[0]
    neighbour.do(f"enter {conversation}")
    assert store.is_open_elsewhere(conversation)
    if end == "kill":
        neighbour.kill()
    else:
        neighbour.do(end)
    assert not store.is_open_elsewhere(conversation)
    assert not store.enter(conversation)


def test_what_both_say_at_the_same_place_is_kept_as_branches(store, neighbour):
    conversation, records = talk(store, "Hi")
    store.enter(conversation)
    neighbour.do(f"enter {conversation}")
    for number in range(20):
        neighbour.do(f"below {records[-1].id} theirs {number}")
        store.ask(conversation, records[-1].id, f"ours {number}")
    expected = {f"{whose} {number}" for whose in ("ours", "theirs") for number in range(20)}
    assert texts(store, conversation) >= expected
    assert len(store.path(conversation)[-1].siblings) == 40


def test_what_is_deleted_here_and_open_there_is_purged_only_when_it_is_left(store, neighbour, path):
    conversation, _ = talk(store, "Hi")
    neighbour.do(f"enter {conversation}")
    store.delete(conversation)
    store.purge()
    store.purge(conversation)
    assert store.system(conversation)  # it is there still
    assert neighbour.do("ask and I am not done") != ""
    assert [each.id for each in store.summaries()] == [conversation]
    assert contents(store, conversation)[-1] == "and I am not done"
    store.delete(conversation)
    neighbour.do("close")
    assert path.read_bytes().count(b"and I am not done") == 0


def test_what_is_dropped_here_can_still_be_answered_there(store, neighbour):
    conversation, records = talk(store, "Hi", "More")
    neighbour.do(f"enter {conversation}")
    store.drop(records[2].id)
    store.purge()
    assert neighbour.do(f"below {records[3].id} wait") != ""
    assert contents(store, conversation) == ["Hi", "Answer to Hi", "More", "Answer to More", "wait"]


def test_a_store_in_memory_is_shared_with_nobody():
    store = opened()
    assert not store.enter(store.begin())


def test_what_dead_instances_had_open_is_forgotten(store, neighbour, path):
    neighbour.do(f"enter {talk(store, 'Hi')[0]}")
    neighbour.kill()
    Store(path).close()
    with store._database.reading() as sql:
        assert sql.execute("SELECT count(*) FROM note WHERE key GLOB 'open by*'").fetchone()[0] == 0
