"""Conversations stay on this machine, in one private file, and no connection is opened."""

import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import ROOT
from tests.terminal.recording import Recording, run, run_each
from tests.terminal.terminal import ESCAPE, TINY, F, Terminal, gone, idle, loading, streaming

CANARY = "xylophone-canary-4711"
HEARD = "import os,sys\nsys.addaudithook(lambda event, args: {0})\n"
NETWORK = (
    "event.startswith('socket.') and event in ('socket.connect', 'socket.bind', 'socket.sendto', "
    "'socket.getaddrinfo', 'socket.gethostbyname') "
    "and os.write(os.open({path!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "
    "(event + str(args) + '\\n').encode())"
)
STRACE = shutil.which("strace")


def use_everything(terminal: Recording) -> None:
    """Chat, look at every screen, race, and quit."""
    terminal.shows("ready")
    terminal.go(f"{CANARY} is what I say\r", " tokens · ")
    terminal.go("\x1b[1;5A")
    terminal.go("i", "Tokens of")
    terminal.go(ESCAPE)
    terminal.go(ESCAPE)
    for key, shown in ((F[5], "Models"), (F[6], "Settings")):
        terminal.go(key, shown)
        terminal.go(ESCAPE)
    terminal.go("Race" + F[4], "Wrong guesses")
    terminal.go("s")
    terminal.go(ESCAPE)
    terminal.go(ESCAPE)
    terminal.go(F[3])
    terminal.go(F[2])


def commands(models: list[str]) -> Iterator[list[str]]:
    few = [*models, *TINY, "--max-tokens", "10"]
    yield ["ask", "Hello", *few]
    yield ["race", "Hello", *few, "--json"]
    yield ["chats", "list"]
    yield ["chats", "search", "Hello"]
    yield ["models", "list"]
    yield ["models", "show", models[1]]
    yield ["models", "pair", models[1], models[3]]
    yield ["models", "check", models[1]]
    yield ["models", "pull", "--offline", "smollm2-135m"]
    yield ["config", "show"]
    yield ["doctor"]


def received(home: Path) -> tuple[str, Path]:
    path = home / "sockets"
    return HEARD.format(NETWORK.format(path=str(path))), path


def test_the_hook_hears_of_a_connection(tmp_path: Path) -> None:
    code, path = received(tmp_path)
    script = code + "import socket\nsocket.socket().connect_ex(('127.0.0.1', 9))"
    subprocess.run([sys.executable, "-c", script], check=True)
    assert "socket.connect" in path.read_text()


@dataclass(frozen=True)
class Used:
    """What is left when everything in the chat was used once."""

    home: Path
    began: float
    connections: Path  # what Python was asked for
    trace: Path | None  # what the system was asked for


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory, models: list[str]) -> Used:
    """A chat with the most open of umasks, listened to by Python and by the system."""
    home, ears = map(tmp_path_factory.mktemp, ("used", "ears"))
    began = time.time()
    code, connections = received(ears)
    with pytest.MonkeyPatch.context() as patch:
        at_home(home, patch)
        trace = traced(ears, patch) if STRACE else None
        open_to_all = f"{code}os.umask(0)\n"
        with Recording(home, *models, "--max-tokens", "20", site=open_to_all) as terminal:
            use_everything(terminal)
    return Used(home, began, connections, trace)


def at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have everything that a program may write without being asked land in one folder."""
    (home / "tmp").mkdir(exist_ok=True)
    monkeypatch.setenv("TMPDIR", str(home / "tmp"))
    monkeypatch.setenv("HOME", str(home))


def test_the_chat_opens_no_connection(used: Used) -> None:
    assert not used.connections.exists(), used.connections.read_text()


@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
def test_no_process_of_the_chat_asks_the_system_for_one(used: Used) -> None:
    assert used.trace is not None
    assert "AF_UNIX" in used.trace.read_text()  # it was listened to
    assert "AF_INET" not in used.trace.read_text()


@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
def test_no_command_but_pull_asks_the_system_for_one(
    tmp_path: Path, models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = traced(tmp_path, monkeypatch)
    for code, seen in run_each(tmp_path, commands(models)):
        assert code in (0, 3, 5), seen
    assert "AF_INET" not in trace.read_text()


def traced(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have every process that is started from now on tell what it asks of the network."""
    wrapper, trace = home / "python", home / "trace"
    wrapper.write_text(
        f'#!/bin/sh\nexec {STRACE} -f -qq -A -e trace=network -o {trace} {sys.executable} "$@"\n'
    )
    wrapper.chmod(0o700)
    trace.touch()
    monkeypatch.setattr(sys, "executable", str(wrapper))
    return trace


def test_a_conversation_is_in_one_file_and_in_none_when_deleted(
    used: Used, models: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    holding = {path.name for path in with_canary(used.home)}
    assert {"chats.db"} <= holding
    assert all(name.startswith("chats.db") for name in holding), holding
    changed = [path for path in files(ROOT) if path.stat().st_mtime > used.began]
    assert not [path for path in changed if holds(path)]
    at_home(used.home, monkeypatch)
    slow = "import assistant.store.purging as it\nit._SLOW = 0"
    with Recording(used.home, *models, site=slow) as terminal:
        terminal.shows("ready")
        terminal.go(F[2], "day")
        terminal.go("\x1b[3~")  # Del
    assert with_canary(used.home) == []
    assert b"Removing deleted text" in terminal.seen.rpartition(b"\x1b[?1049l")[2]


def with_canary(folder: Path) -> list[Path]:
    return [path for path in files(folder) if path.name != "sitecustomize.py" and holds(path)]


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]


def holds(path: Path) -> bool:
    own = Path(__file__).stem
    return own not in path.name and CANARY.encode() in path.read_bytes()


def test_nobody_else_may_read_anything_whatever_the_umask(used: Used) -> None:
    home = used.home / "home"
    every = [home, *home.rglob("*")]
    assert len(every) > 2
    for path in every:
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path


DEATH = f"""
import threading, tui.chat.screen as chat
def die(*_):
    said = {CANARY!r}
    raise LookupError(said, "\\x1b]0;7741\\x07")
async def die_later(): die()
chat.ChatScreen.action_panel = """
BUGS = {
    "handler": "die",
    "thread": "lambda self: threading.Thread(target=die).start()",
    "worker": "lambda self: self.run_worker(die_later()) and None",
}


def streaming_the_canary(terminal: Terminal) -> None:
    streaming(terminal, CANARY)


@pytest.mark.parametrize(
    "moment", [loading, idle, streaming_the_canary], ids=lambda moment: moment.__name__
)
@pytest.mark.parametrize("bug", BUGS)
@pytest.mark.some(3)
def test_a_bug_ends_in_one_sentence_and_loses_nothing(
    tmp_path: Path, slow: list[str], moment: Callable[[Terminal], None], bug: str
) -> None:
    with Recording(tmp_path, *slow, site=DEATH + BUGS[bug], size=(120, 30)) as terminal:
        moment(terminal)
        workers = terminal.workers()
        terminal.press(F[3])
        assert terminal.end() == 1
        last = terminal.seen.rsplit(b"\x1b[?1049l")[-1].decode()
    assert "This is a bug in specchat: LookupError. SPECCHAT_DEBUG=1 shows where." in last
    assert CANARY not in last
    assert gone(workers)
    if moment is streaming_the_canary:
        assert CANARY in run(tmp_path, "chats", "show", "1")[1].decode()


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="needs Linux")
def test_no_process_leaves_a_core(tmp_path: Path, models: list[str]) -> None:
    with Recording(tmp_path, *models) as terminal:
        idle(terminal)
        for pid in [terminal.process.pid, *(worker.pid for worker in terminal.workers())]:
            limits = Path(f"/proc/{pid}/limits").read_text()
            assert re.search(r"^Max core file size +0 +0 ", limits, re.MULTILINE)


@pytest.mark.parametrize(
    "variables",
    [{"TERM": "vt220"}, {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}, {"NO_COLOR": "1"}],
    ids=str,
)
@pytest.mark.some(2)
def test_a_poor_terminal_is_fine(
    tmp_path: Path, models: list[str], variables: dict[str, str]
) -> None:
    with Recording(tmp_path, *models, "--max-tokens", "20", size=(80, 24), **variables) as terminal:
        idle(terminal)
        terminal.go("Hello\r", "tokens/s")
