"""Programs that are killed, and those that share a store. SPECCHAT_KILLS=200 kills more often."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assistant.store import INTERRUPTED, Store, backups, database, schema
from models.errors import StorageError
from tests.assistant.store import migrating
from tests.assistant.store.talks import answering, fill, integrity, opened, talk
from tests.hostile_texts import ALL

ROOT = Path(__file__).parents[3]
KILLS = int(os.environ.get("SPECCHAT_KILLS", "12" if ALL else "6"))
MIGRATION_KILLS = max(10 if ALL else 6, KILLS // 4)


def start(module: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", f"tests.assistant.store.{module}", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def killed_after(process: "subprocess.Popen[str]", seconds: float) -> list[list[str]]:
    """Kill a program that long after it first said something; return what it had said."""
    assert process.stdout
    first = process.stdout.readline()
    time.sleep(seconds)
    process.kill()
    said, _ = process.communicate()
    lines = (first + said).splitlines(keepends=True)
    return [line.split() for line in lines if line.endswith("\n")]


def kept(path: Path) -> dict[int, tuple[str, int, str | None]]:
    """State, length and stop of every message, as another instance finds them."""
    store = opened(path)
    assert store.notice is None
    found: dict[int, tuple[str, int, str | None]] = {
        each.id: (each.state, len(each.content), each.stop)
        for conversation in store.summaries()
        for each in store.tree(conversation.id)
    }
    store.close()
    return found


@pytest.mark.parametrize("journal", ["TRUNCATE", "WAL"])
def test_nothing_that_was_acknowledged_is_lost_by_kills(path, journal, monkeypatch):
    monkeypatch.setenv("SPECCHAT_TEST_JOURNAL", journal)
    chance = random.Random(journal)
    monkeypatch.setattr(database, "journal_mode", lambda version: journal)
    acknowledged, kills = 0, KILLS if journal == "TRUNCATE" else max(3, KILLS // 5)
    for _ in range(kills):
        said = killed_after(start("talker", path, 10_000), chance.uniform(0, 0.4))
        found = kept(path)
        assert integrity(path) == "ok"
        assert all(state != "streaming" for state, _, _ in found.values())
        for what, id_, length in said:
            state, kept_length, stop = found[int(id_)]
            assert kept_length >= int(length)
            if what in ("asked", "ended"):
                assert (state, kept_length) == ("complete", int(length))
            else:
                assert state == "complete" or (state, stop) == ("failed", INTERRUPTED)
        acknowledged += len(said)
    assert acknowledged > kills
    print(f"\n{kills} kills, {acknowledged} acknowledged writes, none lost")


def test_an_answer_that_streams_elsewhere_is_left_alone_until_its_program_dies(path):
    living = opened(path)
    conversation, answer = answering(living)
    living.answers.stream(answer.id, "so far", ())
    other = opened(path)
    assert other.path(conversation)[-1].state == "streaming"
    living.answers.stream(answer.id, "so far so good", ())
    other.close()
    living.close()  # dies with the answer unfinished
    other = opened(path)
    last = other.path(conversation)[-1]
    assert (last.state, last.stop, last.content) == ("failed", INTERRUPTED, "so far so good")
    assert len(other.summaries("good")) == 1


def test_two_programs_may_write_at_once(path):
    programs = [start("talker", path, 40) for _ in range(2)]
    for program in programs:
        program.communicate()
    assert [program.returncode for program in programs] == [0, 0]
    store = opened(path)
    assert [each.messages for each in store.summaries()] == [80, 80]
    store.close()
    assert integrity(path) == "ok"


def test_many_programs_may_make_the_store_at_once(path):
    programs = [start("talker", path, 1) for _ in range(6)]
    for program in programs:
        program.communicate()
    assert {program.returncode for program in programs} == {0}
    store = opened(path)
    assert [each.messages for each in store.summaries()] == [2] * 6


def test_marks_of_dead_programs_are_cleared_away(path):
    killed_after(start("talker", path, 1000), 0.1)
    store = opened(path)
    assert len(list(path.with_suffix(".running").glob("instance-*"))) == 1
    store.close()
    assert list(path.with_suffix(".running").glob("instance-*")) == []


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """A store of 10,000 messages of this version."""
    path = tmp_path_factory.mktemp("old") / "chats.db"
    store = Store(path)
    fill(store, 10_000, "message {} " * 9)
    store.close()
    return path


def test_a_killed_migration_leaves_the_old_or_the_new_never_between(old, path, monkeypatch):
    monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS)  # put back afterwards
    chance = random.Random(5)
    seen = set()
    before, after = (schema.newest(), 10_000, 0, 0), (schema.newest() + 1, *[10_000] * 3)
    for _ in range(MIGRATION_KILLS):
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir(mode=0o700)
        shutil.copy(old, path)
        said = killed_after(start("migrating", path), chance.uniform(0, 0.3))
        seen.add(said[-1][0])
        assert between(path) in (before, after)
        assert ["done"] not in said or between(path) == after
        assert integrity(path) == "ok"
        for backup in backups.backups(path):
            assert between(backup) == before
    print(f"\n{MIGRATION_KILLS} kills of a migration, at: {sorted(seen)}")
    migrating.upgrade()
    store = opened(path)
    assert len(store.tree(1)) == 10_000
    store.close()
    assert between(path) == after


def between(path: Path) -> tuple[int, int, int, int]:
    """Version, messages, and how many of them each part of the migration reached."""
    sql = sqlite3.connect(path)
    version = sql.execute("PRAGMA user_version").fetchone()[0]
    messages, changed = sql.execute(
        "SELECT count(*), coalesce(sum(content LIKE '%!'), 0) FROM message"
    ).fetchone()
    columns = [row[1] for row in sql.execute("PRAGMA table_info(message)")]
    rating = "rating" if "rating" in columns else "NULL"
    (rated,) = sql.execute(f"SELECT count({rating}) FROM message").fetchone()
    sql.close()
    return version, messages, changed, rated


def test_nothing_is_migrated_under_another_instance(path, monkeypatch):
    older = opened(path)
    conversation, records = talk(older, "Hi")
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, lambda sql: None))
    with pytest.raises(StorageError, match="Close every other specchat"):
        Store(path)
    older.ask(conversation, records[-1].id, "still here")
    older.close()
    Store(path).close()
    assert len(backups.backups(path)) == 1


def test_a_migration_that_fails_changes_nothing_and_is_backed_up(old, path, monkeypatch):
    def fail(sql: sqlite3.Connection) -> None:
        sql.execute("DROP TABLE note")
        raise sqlite3.OperationalError("made to fail")

    path.parent.mkdir(mode=0o700)
    shutil.copy(old, path)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, fail))
    with pytest.raises(sqlite3.OperationalError):
        Store(path)
    assert between(path) == (schema.newest() - 1, 10_000, 0, 0)
    assert len(backups.backups(path)) == 1
    monkeypatch.undo()
    store = opened(path)
    assert store.recall("anything") is None
