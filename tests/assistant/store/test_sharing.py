"""One conversation in two instances: it is told, and nothing is lost."""

import subprocess
import sys
from pathlib import Path

import pytest

from assistant.store import Store
from tests.assistant.store.talks import contents, opened, talk

ROOT = Path(__file__).parents[3]
ENTER = """
import sys
from pathlib import Path
from assistant.store import Store
store = Store(Path(sys.argv[1]))
print(store.enter(int(sys.argv[2])), flush=True)
sys.stdin.read()
"""


def entered(path: Path, conversation: int) -> "subprocess.Popen[str]":
    """Start a program that enters a conversation and stays there; it is there to be killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", ENTER, str(path), str(conversation)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "False\n"
    return process


def kill(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


@pytest.fixture
def neighbour(store: Store, path: Path) -> Store:
    """Another instance."""
    return opened(path)


def texts(store: Store, conversation: int) -> set[str]:
    return {record.content for record in store.tree(conversation)}


def test_the_second_to_open_a_conversation_is_told_and_the_first_is_not(store, neighbour):
    conversation, other = talk(store, "Hi")[0], talk(store, "Ho")[0]
    assert not store.enter(conversation)
    assert not store.enter(conversation)  # it is not elsewhere because it is here
    assert not neighbour.enter(other)
    assert neighbour.enter(conversation)
    assert not store.is_open_elsewhere(other)  # one is left when another is entered
    assert store.is_open_elsewhere(conversation)


@pytest.mark.parametrize("end", [lambda store: store.enter(None), Store.close])
def test_what_was_left_is_open_elsewhere_no_more(store, neighbour, end):
    conversation = talk(store, "Hi")[0]
    neighbour.enter(conversation)
    assert store.is_open_elsewhere(conversation)
    end(neighbour)
    assert not store.is_open_elsewhere(conversation)
    assert not store.enter(conversation)


def test_what_a_program_that_was_killed_had_open_is_open_no_more_and_forgotten(store, path):
    conversation = talk(store, "Hi")[0]
    process = entered(path, conversation)
    assert store.is_open_elsewhere(conversation)
    kill(process)
    assert not store.is_open_elsewhere(conversation)
    assert not store.enter(None)
    Store(path).close()
    with store._database.reading() as sql:
        assert sql.execute("SELECT count(*) FROM note WHERE key GLOB 'open by*'").fetchone()[0] == 0


def test_what_both_say_at_the_same_place_is_kept_as_branches(store, neighbour):
    conversation, records = talk(store, "Hi")
    store.enter(conversation)
    neighbour.enter(conversation)
    for number in range(20):
        neighbour.ask(conversation, records[-1].id, f"theirs {number}")
        store.ask(conversation, records[-1].id, f"ours {number}")
    expected = {f"{whose} {number}" for whose in ("ours", "theirs") for number in range(20)}
    assert texts(store, conversation) >= expected
    assert len(store.path(conversation)[-1].siblings) == 40


def test_what_is_deleted_here_and_open_there_is_purged_only_when_it_is_left(store, neighbour, path):
    conversation, _ = talk(store, "Hi")
    neighbour.enter(conversation)
    store.delete(conversation)
    store.purge()
    store.purge(conversation)
    assert store.system(conversation)  # it is there still
    neighbour.ask(conversation, neighbour.path(conversation)[-1].id, "and I am not done")
    assert [each.id for each in store.summaries()] == [conversation]
    assert contents(store, conversation)[-1] == "and I am not done"
    store.delete(conversation)
    neighbour.purge()
    neighbour.close()
    assert path.read_bytes().count(b"and I am not done") == 0


def test_what_is_dropped_here_can_still_be_answered_there(store, neighbour):
    conversation, records = talk(store, "Hi", "More")
    neighbour.enter(conversation)
    store.drop(records[2].id)
    store.purge()
    neighbour.ask(conversation, records[3].id, "wait")
    assert contents(store, conversation) == ["Hi", "Answer to Hi", "More", "Answer to More", "wait"]


def test_a_store_in_memory_is_shared_with_nobody():
    store = opened()
    assert not store.enter(store.begin())
