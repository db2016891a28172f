"""A pull under fire: damage, kills, refusals, and a token that must stay where it belongs.

`SPECCHAT_KILLS=20` kills that many pulls instead of four.
"""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import pytest
from huggingface_hub import constants

from models.errors import NetworkError
from models.files import hub as client
from models.files.places import hub_cache
from models.files.pull import pull
from models.files.stores import installed
from tests.models.files.conftest import leftovers
from tests.models.files.hub_server import Fault
from tests.patience import WAIT_S
from tui.shell import cli

ROOT = Path(__file__).parents[3]
NAME = "org/toy-GGUF:toy.gguf"
SECRET = "hf_NobodyMayEverSeeThis"
KILLS = int(os.environ.get("SPECCHAT_KILLS", "4"))
CHUNKS = 40  # in which a slow server sends the file
BUFFERED = 20_000  # bytes at most that have arrived and are not written yet


def flips(data: bytes) -> list[bytes]:
    """Return the file with one byte changed, at 20 places from the first to the last."""
    ends = [round(i * (len(data) - 1) / 19) for i in range(20)]
    return [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in ends]


def cuts(data: bytes) -> list[bytes]:
    """Return the file cut at 20 places."""
    return [data[: round(i * (len(data) - 1) / 19)] for i in range(20)]


def test_40_damaged_downloads_are_refused_and_leave_nothing_that_passes_for_a_model(hub, data):
    for wrong in (*flips(data), *cuts(data)):
        hub.data, hub.size = wrong, len(wrong)  # the hub promises what it sends, but the checksum
        with pytest.raises(NetworkError) as caught:
            pull(NAME)
        assert str(caught.value).isprintable()
        assert installed() == []
        if wrong:  # else there is nothing to compare
            assert leftovers(hub_cache()) == []
    hub.data, hub.size = data, len(data)
    assert pull(NAME).read_bytes() == data


def slowly(handler) -> None:
    """Send the file in many small pieces."""
    data = begun(handler)
    size = len(data) // CHUNKS
    for at in range(0, len(data), size):
        handler.wfile.write(data[at : at + size])
        if handler.hub.released.wait(0.01):
            return


def part(size: int, killed: Event) -> Fault:
    """Return an answer that sends so much of the file, and no more."""

    def answer(handler) -> None:
        handler.wfile.write(begun(handler)[:size])
        killed.wait(WAIT_S)

    return answer


def begun(handler) -> bytes:
    """Send what comes before the file, which is returned."""
    handler.send_response(200)
    handler.send_header("ETag", handler.hub.etag)
    handler.send_header("Content-Length", str(len(handler.hub.data)))
    handler.end_headers()
    return bytes(handler.hub.data)


def arrived() -> int:
    """Count the bytes on disk of what is not whole."""
    return sum(path.stat().st_size for path in hub_cache().rglob("*specchat-part"))


def specchat(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", "from tui.__main__ import main; main()", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_pulls_killed_at_random_times_end_in_the_right_file_and_list_no_part_of_it(hub, data):
    """Every other kill comes when so much has arrived, the rest at any time at all."""
    rng, taken_up = random.Random(0), 0
    started = time.monotonic()
    specchat("models", "list").communicate()
    longest = time.monotonic() - started + 1.5
    for i in range(KILLS):
        until, killed = rng.random(), Event()
        size = max(2 * BUFFERED, int(until * len(data)))
        hub.gets, hub.requests = [slowly if i % 2 else part(size, killed)], []
        process = specchat("models", "pull", NAME)
        if i % 2:
            time.sleep(until * longest)
        while i % 2 == 0 and arrived() < size - BUFFERED:
            assert process.poll() is None
            time.sleep(0.001)
        kill(process)
        killed.set()
        whole = [model.path for model in installed()]
        assert all(path.read_bytes() == data for path in whole)
        hub.gets = []
        assert pull(NAME).read_bytes() == data
        taken_up += any(hub.ranges)
        assert leftovers(hub_cache()) == []
        assert len(installed()) == 1
        pull(NAME).resolve().unlink()
        assert installed() == []
    assert taken_up >= KILLS // 2


def run(*arguments: str) -> int:
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["specchat", *arguments])
            cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        signal.signal(signal.SIGTERM, handler)
    return 0


def silent(handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(handler.hub.data)))
    handler.end_headers()
    handler.hub.released.wait(WAIT_S)


FAULTS = {
    "401": (lambda handler: handler.send_page(401), "HF_TOKEN"),
    "429": (lambda handler: handler.send_page(429), "limiting requests"),
    "503": (lambda handler: handler.send_page(503), "has a problem"),
    "page": (lambda handler: handler.send_page(200), "more or less"),
    "cut": (lambda handler: handler.send_file(stop_after=0), "cannot be reached"),
    "cut at once": (lambda handler: handler.close_connection or handler.wfile.close(), "reached"),
    "silence": (silent, "cannot be reached"),
    "damage": (lambda handler: handler.send_file(b"GGUF" + handler.hub.data[4:][::-1]), "damaged"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_of_the_hub_is_a_sentence_and_exit_code_5(hub, monkeypatch, capfd, fault):
    if fault == "silence":  # any other answer may take its time
        monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.05)
    monkeypatch.setattr(client, "token", lambda: SECRET)
    answer, sentence = FAULTS[fault]
    hub.gets = [answer] * 20
    assert run("models", "pull", NAME) == 5
    out, err = capfd.readouterr()
    last = err.strip().splitlines()[-1]
    assert last.startswith("specchat: ")
    assert sentence in last
    assert "Traceback" not in err
    assert SECRET not in out + err
    assert installed() == []


def test_without_a_hub_or_offline_the_exit_code_is_5_at_once(capfd, hub, monkeypatch):
    assert run("models", "pull", NAME, "--offline") == 5
    assert hub.requests == []
    assert "offline" in capfd.readouterr().err
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert run("models", "pull", NAME) == 5
    assert re.search(r"cannot be reached.*online", capfd.readouterr().err)


def test_a_token_is_for_the_hub_alone_and_never_seen(
    hub, hosted, data, tmp_path, monkeypatch, capfd
):
    """The store that the hub redirects to is another origin."""
    monkeypatch.setattr(client, "token", lambda: SECRET)  # as if the hub were encrypted
    hub.gets = [lambda handler: handler.send_file(stop_after=1000)]
    assert run("models", "pull", hosted.name) == 0
    told = [(path, headers.get("authorization")) for _, path, headers in hub.requests]
    assert {token for path, token in told if "/store/" not in path} == {f"Bearer {SECRET}"}
    stored = [headers for _, path, headers in hub.requests if "/store/" in path]
    assert len(stored) >= 2
    assert SECRET not in str(stored)
    out, err = capfd.readouterr()
    assert SECRET not in out + err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not any(SECRET.encode() in path.read_bytes() for path in files)
