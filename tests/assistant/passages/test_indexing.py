"""The index of a folder is kept up to date, and a hostile file costs only itself."""

import asyncio
import os
import random
import socket
import sqlite3
from contextlib import closing

import psutil
import pytest

from assistant.passages import file_lines, index_file, vocabulary, walking
from assistant.passages.folder_index import FolderIndex, update
from assistant.streamed_text import PACKED
from assistant.tools.folders import Folders
from models.errors import StorageError
from tests.assistant.passages.indexes import indexed, indexed_here, names, updated, with_worker
from tests.assistant.passages.papers import pdf, zipped
from tests.patience import until

SLOW = "<script>" * 60_000
"""A page that takes its reader hours."""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache" / "passages"


def odd(index):
    """Why files are left out, by their names."""
    with closing(sqlite3.connect(index._path)) as sql:
        return dict(sql.execute("SELECT path, reason || '.' FROM file WHERE reason <> ''"))


async def test_only_what_has_changed_is_read_and_what_is_gone_is_not_found(
    folder, cache, monkeypatch
):
    for name in ("kept", "changed", "gone", "touched"):
        (folder / f"{name}.txt").write_text(f"The zebra was {name}.")
    assert [len(await updated(folder, cache)) for _ in range(2)] == [4, 0]
    (folder / "changed.txt").write_text("The giraffe came instead.")
    (folder / "gone.txt").unlink()
    (folder / "new.txt").write_text("A rhinoceros.")
    os.utime(folder / "touched.txt", ns=(1, 1))
    index = FolderIndex(folder, cache)
    with_worker(monkeypatch, CRASH.replace("crash", "touched"))  # it is not split again
    assert sorted(await updated(folder, cache)) == ["changed.txt", "new.txt", "touched.txt"]
    assert sorted(names(index, "zebra")) == ["kept.txt", "touched.txt"]
    assert names(index, "giraffe") + names(index, "rhinoceros") == ["changed.txt", "new.txt"]
    assert await updated(folder, cache) == []


def test_an_index_after_many_changes_is_that_of_the_folder_as_it_is(folder, cache, tmp_path):
    """Words of an old version of a file leave no trace in FTS5's own check."""
    chance = random.Random(1)
    beasts = ["zebra", "Löwe", "élan", "今天天气", "getHttpResponse", "running", "страница"]
    (folder / "i.txt").write_text("unicorn")
    indexed(folder, cache)
    (folder / "i.txt").unlink()
    for _ in range(4):
        for name in chance.choices("abcdefgh", k=5):
            (folder / f"{name}.txt").write_text(" ".join(chance.choices(beasts, k=400)))
        (folder / f"{chance.choice('abcdefgh')}.txt").unlink(missing_ok=True)
        indexed(folder, cache)
    fresh = indexed(folder, tmp_path / "other")
    for beast in beasts:
        passages = FolderIndex(folder, cache).find(beast, limit=50).passages
        assert {*passages} == {*fresh.find(beast, limit=50).passages}
    counts = []
    for where in (cache, tmp_path / "other"):
        with closing(sqlite3.connect(index_file.index_path(folder, where))) as sql:
            sql.execute("CREATE VIRTUAL TABLE temp.seen USING fts5vocab (main, words, row)")
            counts.append(sql.execute("SELECT * FROM temp.seen ORDER BY term").fetchall())
            counts[-1] += sql.execute("SELECT term FROM vocabulary ORDER BY term").fetchall()
    assert counts[0] == counts[1] != []


def test_a_misspelled_word_is_looked_for_among_the_words_that_the_folder_has_now(folder, cache):
    for word in ("giraffe", "okapi", "giraffe"):
        (folder / "a.txt").write_text(f"{word}\n")
        assert indexed_here(folder, cache).find(f"{word}x").instead == {f"{word}x": word}
    with closing(sqlite3.connect(index_file.index_path(folder, cache))) as sql:
        assert vocabulary.of(sql).words.keys() == {"giraff", "txt"}


def test_the_index_of_a_folder_that_is_gone_is_deleted(folder, cache, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (folder / "a.txt").write_text("zebra")
    index = indexed(folder, cache)
    assert names(index, "zebra")
    (folder / "a.txt").unlink()
    folder.rmdir()
    assert index.find("zebra").passages == []
    indexed(other, cache)
    assert not index_file.index_path(folder, cache).exists()
    other.rmdir()
    indexed(other, cache)
    assert list(cache.glob("*.db*")) == list(cache.glob("*.lock"))


def test_files_that_gitignore_names_and_hidden_ones_are_left_out(folder):
    for path in ("a.log", "build/b.txt", "src/c.log", "src/keep.log", ".git/d.txt", ".env",
                 "src/deep/e.tmp", "src/f.txt", "rooted.txt", "src/rooted.txt"):  # fmt: skip
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("zebra")
    (folder / ".gitignore").write_text("*.log\nbuild/\n[z-a]\n/rooted.txt\n!\n")
    (folder / "src" / ".gitignore").write_text("!keep.log\ndeep/*.tmp\n")
    paths = sorted(file.path for file in walking.walk(Folders([folder])))
    assert paths == ["src/f.txt", "src/keep.log", "src/rooted.txt"]


def test_odd_files_are_named_and_the_others_are_found(folder, cache, tmp_path):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "s.txt").write_text("zebra secret")
    (folder / "fine.txt").write_text("zebra fine")
    (folder / "deep").mkdir()
    links = {"out": tmp_path / "secret", "file_out": tmp_path / "secret" / "s.txt",
             "deep/loop": folder, "again": folder / "fine.txt", "broken": folder / "nothing",
             "self": folder / "self"}  # fmt: skip
    for name, target in links.items():
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe.txt")
    with closing(socket.socket(socket.AF_UNIX)) as unix:
        unix.bind(str(folder / "socket"))
    (folder / "picture.png").write_bytes(b"\x89PNG\0\0zebra")
    with (folder / "huge.txt").open("wb") as file:
        file.truncate(file_lines.TEXT_MB * 1_000_000 + 1)
    (folder / os.fsdecode(b"zebra\xff.txt")).write_text("zebra")
    (folder / os.fsdecode(b"folder\xff")).mkdir()
    (folder / os.fsdecode(b"folder\xff") / "x.txt").write_text("zebra")
    (folder / "bomb.docx").write_bytes(zipped(b"\0" * 200_000_000))
    (folder / "laughs.docx").write_bytes(zipped(laughs()))
    (folder / "broken.docx").write_bytes(b"PK no")
    (folder / "locked.docx").write_bytes(PACKED[1])
    (folder / "broken.pdf").write_bytes(pdf("x").replace(b"obj", b"bjo"))
    (folder / "scanned.pdf").write_bytes(pdf("[scan]"))
    key = b"R/ID[<00>]/Encrypt<</Filter/Standard/V 1/R 2/P 0/O(%b)/U(%b)>>>>\nstart"
    key %= b"o" * 32, b"u" * 32
    (folder / "locked.pdf").write_bytes(pdf("x").replace(b"R>>\nstart", key))
    index = indexed(folder, cache)
    assert names(index, "zebra") == ["fine.txt"]
    assert index.state.files == 1
    link, nothing = "is a link out of the folder.", "is neither a file nor a folder."
    assert {name: f"{why.split(':')[0].rstrip('.')}." for name, why in odd(index).items()} == {
        "out": link, "file_out": link, "pipe.txt": nothing, "socket": nothing,
        "picture.png": "is not text in a known encoding.", "huge.txt": "is larger than 8 MB.",
        "zebra\ufffd.txt": "has a name that is not UTF-8.",
        "folder\ufffd": "has a name that is not UTF-8.",
        "bomb.docx": "is larger than 32 MB when it is unpacked.",
        "laughs.docx": "is malformed.", "broken.docx": "is malformed.",
        "broken.pdf": "is malformed.", "locked.pdf": "needs a password.",
        "locked.docx": "needs a password.",
        "scanned.pdf": "holds no text; it may be scanned.",
    }  # fmt: skip


def laughs():
    entities = "".join(f'<!ENTITY l{at} "{f"&l{at - 1};" * 10}">' for at in range(1, 12))
    return f'<!DOCTYPE x [<!ENTITY l0 "lol">{entities}]><x>&l11;</x>'.encode()


@pytest.mark.skipif(os.geteuid() == 0, reason="the administrator may read everything")
def test_a_file_that_may_not_be_read_is_named(folder, cache):
    (folder / "locked").mkdir(mode=0)
    (folder / "secret.txt").touch(mode=0)
    assert set(odd(indexed(folder, cache))) == {"locked", "secret.txt"}


def test_a_file_that_grows_while_it_is_read_is_named(folder, monkeypatch):
    (folder / "a.txt").write_text("zebra")
    (folder / "none").touch()

    def read(descriptor, size, real=os.read):
        with (folder / "a.txt").open("a") as file:
            file.write("more")
        return real(descriptor, size)

    monkeypatch.setattr(os, "read", read)
    with Folders([folder]).open("a.txt") as descriptor:
        with pytest.raises(file_lines.UnsupportedFile, match="changes while it is read"):
            file_lines.content(descriptor, ".txt")
        assert (folder / "a.txt").stat().st_size == 13  # it was not read for as long as it grew
        monkeypatch.setattr(os, "fstat", lambda _: (folder / "none").stat())  # /proc
        with pytest.raises(file_lines.UnsupportedFile, match="changes while it is read"):
            file_lines.content(descriptor, ".txt")


def test_more_files_than_are_looked_at_are_named_once(folder, monkeypatch):
    monkeypatch.setattr(walking, "FILES", 10)
    for at in range(8):
        (folder / f"d{at % 4}").mkdir(exist_ok=True)
        (folder / f"d{at % 4}" / f"{at}.txt").write_text("zebra")
    *found, last = walking.walk(Folders([folder]))
    assert 4 <= len(found) <= 10
    assert (last.path, last.reason) == ("", "holds more than 10 files; the rest is left out")
    monkeypatch.setattr(walking, "FILES", 12)
    assert len([*walking.walk(Folders([folder]))]) == 8


CRASH = """
def lines(data, kind, real=file_lines.lines):
    if b"crash" in data:
        os.kill(os.getpid(), signal.SIGSEGV)
    return real(data, kind)
file_lines.lines = lines
"""


async def test_a_file_that_crashes_its_reader_is_named_until_it_changes(folder, cache, monkeypatch):
    with_worker(monkeypatch, CRASH)
    for name in "abcdef":
        text = f"zebra {name}" if name in "ace" else "crash"
        (folder / f"{name}.pdf.txt").write_text(text)
    index = FolderIndex(folder, cache)
    await updated(folder, cache)
    assert sorted(names(index, "zebra")) == ["a.pdf.txt", "c.pdf.txt", "e.pdf.txt"]
    assert odd(index) == {f"{name}.pdf.txt": "crashes its reader (-11)." for name in "bdf"}
    assert index.state.skipped == (f"{folder}/b.pdf.txt (and 2 more) crashes its reader (-11).",)
    assert await updated(folder, cache) == []  # it is not tried again ...
    (folder / "b.pdf.txt").write_text("zebra b")
    assert await updated(folder, cache) == ["b.pdf.txt"]  # ... until it changes
    assert "b.pdf.txt" in names(index, "zebra")


UNLIMITED = """
real = worker.IndexFile.complete
worker.IndexFile.complete = lambda index: 1 / 0 if signal.alarm(0) else real(index)
"""
"""The end of an update is no file's, and takes as long as it takes."""


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("worker.CPU_S = 1", "takes too long to read."),
        ("worker.PATIENCE_S = 1", "takes too long to read."),
        ("file_lines.READERS['.html'] = lambda data: data * 10**10", "is malformed: ."),
    ],
    ids=["processor", "clock", "memory"],
)
async def test_a_file_that_takes_too_long_or_too_much_memory_is_named(
    folder, cache, monkeypatch, code, why
):
    with_worker(monkeypatch, f"{code}\n{UNLIMITED}")
    (folder / "slow.html").write_text(SLOW)
    (folder / "z.txt").write_text("zebra")
    await updated(folder, cache)
    assert odd(FolderIndex(folder, cache)) == {"slow.html": why}
    assert names(FolderIndex(folder, cache), "zebra") == ["z.txt"]


def workers():
    """The workers that were started here and live."""
    children = psutil.Process().children(recursive=True)
    return [child for child in children if "assistant.passages.worker" in child.cmdline()]


async def test_a_reader_has_the_lowest_priority_and_ends_with_its_update(folder, cache):
    (folder / "slow.html").write_text(SLOW)
    progress = update(folder, cache)
    await anext(progress)
    (reader,) = workers()
    assert reader.nice() == 19
    assert "models.child_process" in reader.cmdline()  # which ends with this program
    await progress.aclose()
    assert not reader.is_running()
    assert FolderIndex(folder, cache).state == (0, (), 0, False)  # and the file is not blamed


async def test_two_updates_at_once_end_with_one_sound_index(folder, cache):
    for at in range(60):
        (folder / f"{at}.txt").write_text(f"zebra {at} " * 50)
    await asyncio.gather(*(updated(folder, cache) for _ in range(3)))
    assert FolderIndex(folder, cache).state == (60, (), 0, True)


@pytest.mark.parametrize("damage", ["random", "empty", "version", "words", "text"])
@pytest.mark.parametrize("is_searched", [True, False])
async def test_an_index_that_is_damaged_is_made_again(folder, cache, damage, is_searched):
    (folder / "a.txt").write_text("zebra")
    await updated(folder, cache)
    path, index = index_file.index_path(folder, cache), FolderIndex(folder, cache)
    if damage == "version":
        with closing(sqlite3.connect(path)) as sql:
            sql.execute(f"PRAGMA user_version = {index_file.VERSION + 1}")
    elif damage in ("words", "text"):
        with closing(sqlite3.connect(path)) as sql, sql:
            table = "passage SET packed" if damage == "text" else "words_data SET block"
            sql.execute(f"UPDATE {table} = x'0000' WHERE id > 10 OR {damage == 'text'}")
    else:
        path.write_bytes(random.Random(1).randbytes(40_000) if damage == "random" else b"")
    if is_searched:
        assert index.find("zebra").passages == []
    else:  # it is seen when the file is read again
        (folder / "a.txt").write_text("zebra and giraffe")
    await updated(folder, cache)
    assert names(index, "zebra") == ["a.txt"]
    assert index.state.is_current


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda path: path.parent.parent.write_text("a file"), "cannot be written to .*cache"),
        (lambda path: path.mkdir(parents=True), "cannot be written.*not a regular file"),
    ],
    ids=["folder", "file"],
)
async def test_an_index_that_cannot_be_written_is_said_so(folder, cache, spoil, why):
    spoil(index_file.index_path(folder, cache))
    with pytest.raises(StorageError, match=why):
        await updated(folder, cache)


async def test_a_question_is_answered_while_the_folder_is_read(folder, cache, monkeypatch):
    with_worker(monkeypatch, "worker.COMMIT_S = 0")
    for at in range(30):
        (folder / f"{at:02}.txt").write_text(f"zebra {at}")
    (folder / "z.html").write_text(SLOW)
    index, progress = FolderIndex(folder, cache), update(folder, cache)
    async for each in progress:
        if each.path.name == "z.html":
            break
    until(lambda: index.state.files == 30)
    assert len(index.find("zebra", limit=50).passages) == 30
    assert not index.state.is_current
    await progress.aclose()


@pytest.mark.parametrize("mode", ["ro", "rwc"])
def test_a_link_to_another_database_and_a_pipe_are_no_index(tmp_path, mode):
    (tmp_path / "link.db").symlink_to("other.db")
    os.mkfifo(tmp_path / "pipe.db")
    for name in ("link.db", "pipe.db"):
        with pytest.raises(sqlite3.OperationalError, match="not a regular file"):
            index_file.open_index(tmp_path / name, mode)
    assert not (tmp_path / "other.db").exists()
