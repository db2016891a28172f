import os
from contextlib import suppress
from pathlib import Path
from socket import socket
from types import SimpleNamespace

import pytest
from huggingface_hub import constants, try_to_load_from_cache

from models.errors import Cancelled, ModelMissing, NetworkError, StorageError, UsageError
from models.files import checksum
from models.files import hub as client
from models.files.checksum import verified_path
from models.files.locate import identify
from models.files.places import hub_cache
from models.files.pull import pull
from models.files.stores import installed_models
from models.progress import Progress
from tests.models.files.conftest import enter, leftovers, refused, toy
from tests.models.files.interrupting import (
    CHUNK,
    NO_MIRROR,
    cancelled_at,
    full_disk_at,
    killed_at,
    pulling,
    stopping,
)
from tests.models.files.stores import file
from tests.patience import WAIT_S, until
from tests.tui.shell.program import run

SECRET = "hf_NobodyMayEverSeeThis"


def storage():
    return hub_cache() / "models--org--toy-GGUF"


def test_a_pulled_file_lies_as_every_program_expects_it(hub, data):
    seen = list[Progress]()
    path = pull(NO_MIRROR, progress=seen.append)
    assert path.read_bytes() == data
    sent = [progress.done for progress in seen if progress.note == "from the hub"]
    assert sent == sorted(sent)
    assert sent[-1] == len(data)
    assert path == storage() / "snapshots" / hub.commit / "toy.gguf"
    assert os.readlink(path) == f"../../blobs/{hub.sha256}"
    assert (storage() / "refs" / "main").read_text() == hub.commit
    assert try_to_load_from_cache("org/toy-GGUF", "toy.gguf", cache_dir=hub_cache()) == str(path)
    assert leftovers(hub_cache()) == []


def test_a_file_that_is_here_is_neither_fetched_nor_read_again(hub, data, monkeypatch):
    first = pull(NO_MIRROR)
    seen = len(hub.requests)
    monkeypatch.setattr(checksum, "sha256", None)
    assert pull(NO_MIRROR) == pull(NO_MIRROR, offline=True) == verified_path(NO_MIRROR) == first
    assert len(hub.requests) == seen
    first.unlink()  # but another snapshot may hold the blob
    assert pull(NO_MIRROR).read_bytes() == data
    assert len(hub.ranges) == 1


def test_an_existing_name_for_the_main_branch_is_left_alone(hub):
    file(storage() / "refs" / "main", b"d" * 40)
    pull(NO_MIRROR)
    assert (storage() / "refs" / "main").read_text() == "d" * 40


@pytest.mark.parametrize("cuts", [(0, 0), (1000, 5000, 100_000)])
def test_a_cut_connection_is_taken_up_where_it_broke(hub, data, cuts, capfd):
    hub.gets = [lambda handler, at=at: handler.send_file(stop_after=at) for at in cuts]
    assert pull(NO_MIRROR).read_bytes() == data
    assert hub.ranges[-1] == (f"bytes={sum(cuts)}-" if sum(cuts) else None)
    assert capfd.readouterr() == ("", "")


def test_a_connection_that_falls_silent_is_cut_and_taken_up(hub, data, monkeypatch):
    wait, limits = socket.settimeout, list[float]()
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 123.0)

    def limit(connection, seconds):
        """Only the silence is one: all other reads may wait for a core."""
        wait(connection, limits.pop() if limits and seconds == 123.0 else seconds)

    monkeypatch.setattr(socket, "settimeout", limit)

    def begin_silence(seen):
        if seen.done == 5000:
            limits.append(0.01)

    def stall(handler):
        handler.send_file(stop_after=5000)
        hub.released.wait(WAIT_S)

    hub.gets = [stall]
    assert pull(NO_MIRROR, progress=begin_silence).read_bytes() == data
    assert hub.ranges == [None, "bytes=5000-"]


def test_attempts_without_progress_are_few(hub):
    hub.gets = [lambda handler: handler.send_file(stop_after=0)] * 50
    refused(NO_MIRROR, "cannot be reached")
    assert len(hub.ranges) <= 6


def test_a_server_that_knows_no_ranges_is_asked_for_everything(hub, data):
    def whole(handler):
        del handler.headers["Range"]
        handler.send_file()

    hub.gets = [lambda handler: handler.send_file(stop_after=5000), whole]
    assert pull(NO_MIRROR).read_bytes() == data


@pytest.mark.parametrize("wrong", ["more", "less", "another range", "other bytes", "a page"])
def test_a_download_of_other_bytes_is_refused_and_the_next_pull_begins_again(hub, data, wrong):
    def send(handler):
        if wrong == "a page":
            handler.send_page()
        elif wrong == "another range":
            handler.headers["Range"] = "bytes=7000-"
            handler.send_file()
        else:
            others = {"more": data + b"more", "less": data[:-9], "other bytes": data[::-1]}
            handler.send_file(others[wrong])

    hub.gets = [send] * 9
    for _ in range(2):  # what is too short is kept once
        refused(NO_MIRROR, "damaged|more or less|cannot be reached")
    assert installed_models() == []
    hub.gets = []
    for _ in range(2):
        with suppress(NetworkError):
            assert pull(NO_MIRROR).read_bytes() == data
    assert pull(NO_MIRROR).read_bytes() == data


@pytest.mark.parametrize("where", ["answers", "gets"])
@pytest.mark.parametrize(
    ("status", "sentence"),
    [(401, "HF_TOKEN"), (403, "HF_TOKEN"), (404, "no such"), (418, "HTTP 418"), (503, "HTTP 503")],
)
def test_a_refusal_is_one_sentence_and_what_arrived_is_kept(hub, data, where, status, sentence):
    hub.gets = [lambda handler: handler.send_file(stop_after=50_000)]
    getattr(hub, where).extend([lambda handler: handler.send_page(status)] * 9)
    refused(NO_MIRROR, sentence)
    hub.gets, hub.answers = [], []
    assert pull(NO_MIRROR).read_bytes() == data
    assert hub.ranges[-1] == ("bytes=50000-" if where == "gets" else None)


def test_a_hub_that_limits_requests_is_asked_again_for_the_rest(hub, data):
    hub.gets = [lambda handler: handler.send_page(429)] * 2
    assert pull(NO_MIRROR).read_bytes() == data


@pytest.mark.parametrize(
    ("size", "sentence", "error"),
    [
        (-7, "not answer like the hub", NetworkError), (0, "gives no size", NetworkError),
        ("junk", "not answer like the hub", NetworkError),
        (10**11, "hf download org/toy-GGUF toy.gguf", NetworkError),
        (10**18, "is needed", StorageError),
    ],
)  # fmt: skip
def test_nothing_is_fetched_of_a_size_that_cannot_be(hub, monkeypatch, size, sentence, error):
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=10**12))
    hub.size = size
    refused(NO_MIRROR, sentence, error)
    assert hub.ranges == []


@pytest.mark.parametrize(
    "answer", [[], {}, {"sha": "main"}, {"siblings": [{}]}, {"siblings": 7}], ids=str
)
def test_a_hub_that_talks_nonsense_is_not_believed(hub, answer):
    hub.described = hub.truth() | answer if answer else answer
    refused(NO_MIRROR, "does not answer like the hub")


@pytest.mark.parametrize("endpoint", ["http://[", "nonsense", "ftp://x", "http://x y"])
def test_a_nonsensical_address_of_the_hub_is_a_sentence(monkeypatch, endpoint):
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    refused(NO_MIRROR, "The hub")


def test_other_bytes_than_the_catalogues_are_not_even_fetched(hub, data, monkeypatch):
    enter(monkeypatch, toy(data + b"x", "org/toy-GGUF"))
    hub.size += 1
    refused("toy", "is not the file the catalogue lists")
    assert hub.ranges == []


def test_of_a_repository_alone_the_usual_quantisation_is_fetched(hub):
    hub.described = hub.truth("toy-Q8_0.gguf")
    code, _, err = run("models", "pull", f"org/toy-GGUF@{hub.commit}")
    assert (code, "It has: Q8_0." in err) == (3, True)
    hub.described = hub.truth("toy-Q8_0.gguf", "toy-Q4_K_M.gguf")
    code, out, _ = run("models", "pull", "org/toy-GGUF")
    assert (code, Path(out.strip()).name) == (0, "toy-Q4_K_M.gguf")


def test_a_fault_of_the_hub_is_a_sentence_and_exit_code_5(hub, monkeypatch):
    monkeypatch.setattr(client, "token", lambda: SECRET)
    hub.gets = [lambda handler: handler.send_file(b"GGUF" + handler.hub.data[4:][::-1])]
    code, out, err = run("models", "pull", NO_MIRROR)
    last = err.strip().splitlines()[-1]
    assert (code, last.startswith("specchat: "), "arrived damaged" in last) == (5, True, True)
    assert SECRET not in out + err
    assert "Traceback" not in err


def test_a_token_is_for_the_hub_alone_and_never_seen(hub, hosted, tmp_path, monkeypatch):
    """The store that the hub redirects to is another origin."""
    monkeypatch.setattr(client, "token", lambda: SECRET)  # as if the hub were encrypted
    hub.gets = [lambda handler: handler.send_file(stop_after=1000)]
    pull(hosted.name)
    sent_tokens = [(path, headers.get("authorization")) for path, headers in hub.requests]
    assert {token for path, token in sent_tokens if "/store/" not in path} == {f"Bearer {SECRET}"}
    stored = [headers for path, headers in hub.requests if "/store/" in path]
    assert len(stored) >= 2
    assert SECRET not in str(stored)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not any(SECRET.encode() in path.read_bytes() for path in files)


def test_no_token_travels_unencrypted(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", SECRET)
    pull(NO_MIRROR)
    assert not any(SECRET in str(request) for request in hub.requests)


def test_a_file_that_cannot_be_pulled_or_is_forbidden_is_not_requested(hub, monkeypatch):
    refused("org/toy-GGUF:toy-00001-of-00002.gguf", "one part", UsageError)
    refused("./absent.gguf", "no file", ModelMissing)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    refused(NO_MIRROR, "offline")
    assert hub.requests == []


def test_a_place_that_cannot_be_written_is_a_sentence(hub, tmp_path):
    (tmp_path / "hf").write_text("a file where the folder should be")
    refused(NO_MIRROR, "cannot be written", StorageError)


@pytest.mark.parametrize(
    ("stop", "share"),
    [(cancelled_at, 0.2), (killed_at, 0.5), (killed_at, 0.99), (full_disk_at, 0.2)],
)
def test_a_pull_that_was_stopped_is_taken_up_where_it_was(hub, data, stop, share):
    at = int(len(data) * share)
    stop(at)
    assert installed_models() == []
    assert len(leftovers(hub_cache())) == 1
    assert pull(NO_MIRROR).read_bytes() == data
    begin = int(hub.ranges[-1].removeprefix("bytes=").removesuffix("-"))
    assert at - 2 * CHUNK < begin  # what was not written yet is lost
    assert leftovers(hub_cache()) == []


def test_two_pulls_at_once_fetch_once(hub, data):
    def slowly(handler):
        hub.released.wait(1)  # most often the second arrives at the lock by then
        handler.send_file()

    hub.gets = [slowly]
    first, second = pulling(), pulling()
    outputs = [process.communicate(timeout=WAIT_S)[0] for process in (first, second)]
    assert outputs[0] == outputs[1] != b""
    assert identify(NO_MIRROR).path.read_bytes() == data
    assert hub.ranges == [None]


def test_waiting_for_another_pull_can_be_cancelled(hub):
    hub.gets = [lambda handler: hub.released.wait(WAIT_S)]
    process = pulling()
    until(lambda: hub.ranges)
    with pytest.raises(Cancelled):
        pull(NO_MIRROR, progress=stopping(lambda seen: "waiting" in seen.note))
    process.kill()
    process.communicate()


def test_a_damaged_file_is_replaced(hub, hosted, data):
    pull("toy").resolve().write_bytes(data[:-1] + b"x")
    seen = list[Progress]()
    assert pull("toy", progress=seen.append).read_bytes() == data
    assert any("damaged" in progress.warning for progress in seen)
