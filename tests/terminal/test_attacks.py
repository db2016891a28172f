"""Attacks on the whole program that take long: `make attack` runs them."""

import ctypes
import json
import os
import random
import resource
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import gguf
import pytest

from assistant.session.attachments import read
from assistant.store.store import Store
from models.engines import installed
from models.errors import UsageError
from tests import ROOT, tiny
from tests.assistant.passages.indexes import indexed, names, with_worker
from tests.assistant.store.conversations import talk
from tests.assistant.tools import toolboxes
from tests.patience import WAIT_S
from tests.terminal.terminal import ESCAPE, QUIT, READY, F, Terminal, streaming
from tests.tui.shell.program import run_apart
from tests.tui.shell.serving import complete, head, serving

pytestmark = pytest.mark.thorough
LEFT, PASTED = b"\x1b[?1049l", "\x1b[201~"
HELLO = [{"role": "user", "content": "Hi"}]
BODY = json.dumps({"model": "target", "stream": True, "max_tokens": 50, "messages": HELLO}).encode()
SEQUENCES = ("[A", "[B", "[5~", "[<0;9;9M", "[200~", "[201~", "Ox", "[1;5A", "]0;x", "P")
CONTROLS = [chr(code) for code in range(1, 32) if code not in (3, 17, 26)]  # end or stop it
KEYS = (*"aqyn ?/@:é한", *CONTROLS, *F[1:], *map("\x1b{}".format, SEQUENCES))


@pytest.mark.parametrize("seed", range(3))
def test_a_minute_of_keys_causes_no_error(tmp_path: Path, models: list[str], seed: int) -> None:
    keys, until = random.Random(seed), time.monotonic() + 20
    with Terminal(tmp_path, *models, "--max-tokens", "30", cwd=tmp_path) as terminal:
        terminal.shows(READY)
        while time.monotonic() < until and LEFT not in terminal.seen:  # the palette has Quit, too
            terminal.press(keys.choice(KEYS))
            terminal.read(0.02)
        while terminal.process.poll() is None and LEFT not in terminal.seen:
            terminal.press(f"{PASTED}{ESCAPE}{ESCAPE}{QUIT}")
            terminal.read(0.5)
        assert terminal.end() == 0, terminal.text


def test_a_full_disk_keeps_the_saved_part_of_an_answer(tmp_path: Path, models: list[str]) -> None:
    with Terminal(tmp_path, *models) as terminal:
        streaming(terminal)
        database = next((tmp_path / "home").rglob("chats.db"))
        size = database.stat().st_size
        limits = resource.prlimit(terminal.process.pid, resource.RLIMIT_FSIZE, (size, -1))
        terminal.until(lambda screen: "full" in screen or "not kept" in screen)
        terminal.press(ESCAPE)
        terminal.shows("You ·")
        resource.prlimit(terminal.process.pid, resource.RLIMIT_FSIZE, limits)
        terminal.press("more\r")
        terminal.streams()
        terminal.press(ESCAPE)
    with closing(sqlite3.connect(database)) as sql:
        assert sql.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert sql.execute("SELECT count(*) FROM message WHERE role = 'user'").fetchone()[0] > 0


def mounted(disk: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run a command that has a disk of 1.5 MB of its own."""
    script = 'mount -t tmpfs -o size=1500k none "$0" && exec "$@"'
    apart = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, str(disk), *command]
    places = {"SPECCHAT_HOME": f"{disk}/home", "SPECCHAT_MODELS": f"{disk}/models"}
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **places}
    return subprocess.run(
        apart, check=False, cwd=ROOT, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("case", ["answer", "caches", "context", "slim", "copy"])
def test_a_full_disk_leaves_what_is_whole_and_says_what_is_lost(tmp_path: Path, case: str) -> None:
    (disk := tmp_path / "disk").mkdir()
    if mounted(disk, "true").returncode:
        pytest.skip("needs a system where a user may mount a disk")
    if case == "copy" and "ik" not in installed():
        pytest.skip("needs the engine that has copies")
    tiny.write(tmp_path / "target.gguf", stops=False, n_ctx=4000)
    tiny.write(tmp_path / "q4.gguf", weights=gguf.GGMLQuantizationType.Q4_0)
    done = mounted(disk, sys.executable, "-m", "tests.terminal.small_disk", str(disk), case)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tiny.write(tmp_path / "target.gguf", seed=1)


def test_a_client_that_reads_a_byte_at_a_time_gets_all_and_others_do_not_wait(target: Path) -> None:
    with serving("--target", target) as (_, url):
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            client.connect(("127.0.0.1", int(url[:-3].rpartition(":")[2])))
            client.sendall(head(len(BODY)).encode() + BODY)
            answer, began = b"", time.monotonic()
            while b"[DONE]" not in answer:
                assert time.monotonic() - began < WAIT_S
                answer += client.recv(1)
                time.sleep(0.001)
                if len(answer) == 100:
                    assert complete(url, "target").usage.completion_tokens == 5
        assert answer.startswith(b"HTTP/1.1 200")


def test_clients_that_leave_at_any_moment_leave_a_server_that_answers(target: Path) -> None:
    moments = random.Random(1)
    with serving("--target", target) as (process, url):
        address = ("127.0.0.1", int(url[:-3].rpartition(":")[2]))

        def leave() -> None:
            for _ in range(10):
                with socket.create_connection(address) as client:
                    client.sendall((head(len(BODY)).encode() + BODY)[: moments.randrange(400)])
                    time.sleep(moments.random() / 5)

        clients = [Thread(target=leave) for _ in range(8)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        assert complete(url, "target").usage.completion_tokens == 5
        assert process.poll() is None


async def test_endless_pages_of_a_tool_server_are_limited() -> None:
    async with toolboxes.opened(toolboxes.odd("EndlessPages")) as tools:
        assert toolboxes.report(tools).reason


def test_a_clock_that_is_set_back_loses_and_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Store(None)) as store:
        first, _ = talk(store, "before")
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now - 10_000_000)
        second, records = talk(store, "after")
        assert {each.id for each in store.summaries()} == {first, second}
        assert [each.content for each in store.path(second)] == [each.content for each in records]
        assert store.summaries("after")[0].id == second


@pytest.mark.parametrize("damage", ["truncated", "another model", "a folder"])
def test_a_draft_that_is_no_draft_leaves_plain_answers(tmp_path: Path, damage: str) -> None:
    target, draft = tiny.write(tmp_path / "t.gguf", seed=1), tmp_path / "d.gguf"
    if damage == "truncated":
        draft.write_bytes(target.read_bytes()[:2000])
    elif damage == "a folder":
        draft.mkdir()
    else:
        tiny.write(draft, seed=3, words=("other", "words"))
    pair = ("--target", target, "--draft", draft)
    code, out, err = run_apart("ask", "Hi", *pair, "--max-tokens", "5")
    assert "Traceback" not in err
    assert code in (0, 3)
    assert out or str(draft) in err


def without_privileges() -> None:
    """Have the administrator obey permissions, from the next program on."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability)  # PR_CAPBSET_DROP


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux to obey permissions")
@pytest.mark.parametrize("mode", [0o000, 0o500])
def test_a_home_that_is_closed_is_one_sentence(tmp_path: Path, home: Path, mode: int) -> None:
    (chats := tmp_path / "chats.jsonl").write_text('{"specchat": 1}')
    home.mkdir()
    home.chmod(mode)
    code, _, err = run_apart("chats", "import", chats, preexec_fn=without_privileges)
    home.chmod(0o700)
    assert code == 4
    assert str(home) in err
    assert "Traceback" not in err


@pytest.fixture
def changing(tmp_path: Path) -> Iterator[Path]:
    """A file that somebody writes, cuts and removes all the time."""
    file, other, stop = tmp_path / "log.txt", tmp_path / "other.txt", Event()
    other.write_bytes(b"line\n")

    def change() -> None:
        for number in range(1_000_000):
            if stop.is_set():
                return
            file.write_bytes(b"line\n" * (number % 5000))
            if number % 7 == 0:
                file.unlink()
                file.symlink_to(other) if number % 2 else file.touch()
                file.unlink()

    thread = Thread(target=change)
    thread.start()
    yield file
    stop.set()
    thread.join()


def test_a_file_that_changes_while_it_is_read_is_one_version_or_refused(changing: Path) -> None:
    for _ in range(300):
        try:
            text = read(changing).text
        except UsageError:
            pass
        else:
            assert not text.replace("line\n", "").strip("line\n")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 200,000 files."""
    folder = tmp_path_factory.mktemp("files") / "many"
    for outer in range(200):
        (inner := folder / f"{outer}").mkdir(parents=True)
        (first := inner / "0.txt").write_text(f"The folder has the number {outer}.")
        for number in range(1, 1000):
            (inner / f"{number}.txt").hardlink_to(first)
    return folder


def test_two_hundred_thousand_files_are_read_as_far_as_the_limit(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_worker(monkeypatch, "from assistant.passages import walking; walking.FILES = 10_000")
    index = indexed(many, tmp_path / "cache")
    assert 9_000 < index.state.files <= 10_000
    assert index.state.skipped[0].endswith("holds more than 10,000 files; the rest is left out.")
    assert names(index, "Which folder has a number?")


def test_a_huge_folder_can_be_given_up(many: Path, tmp_path: Path, models: list[str]) -> None:
    with Terminal(tmp_path, *models, cwd=many.parent, size=(100, 60)) as terminal:
        terminal.shows(READY)
        terminal.press("@many/")
        terminal.shows("the folder itself")
        terminal.press("\r")
        terminal.shows("searched for answers")
        terminal.press("Which number?\r")
        terminal.shows("Which number?", "reading many/")
        terminal.press(ESCAPE)
        terminal.shows("│ Which number?")
        terminal.press("\x0c")
        terminal.shows("d removes")
        terminal.press("d")
        terminal.until(lambda screen: "d removes" not in screen)
        terminal.press("\r")
        terminal.streams()
        terminal.press(ESCAPE)
        terminal.shows("stopped", "reading many/")
