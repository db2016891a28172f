"""A pull as a shell sees it: its exit codes, and a token that must stay where it belongs."""

import re

import pytest
from huggingface_hub import constants

from models.files import hub as client
from models.files.stores import installed
from tests.patience import WAIT_S
from tests.tui.shell.program import run

NAME = "org/toy-GGUF:toy.gguf"
SECRET = "hf_NobodyMayEverSeeThis"


def silent(handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(handler.hub.data)))
    handler.end_headers()
    handler.hub.released.wait(WAIT_S)


FAULTS = {
    "401": (lambda handler: handler.send_page(401), "HF_TOKEN"),
    "page": (lambda handler: handler.send_page(200), "more or less"),
    "cut": (lambda handler: handler.send_file(stop_after=0), "cannot be reached"),
    "silence": (silent, "cannot be reached"),
    "damage": (lambda handler: handler.send_file(b"GGUF" + handler.hub.data[4:][::-1]), "damaged"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_of_the_hub_is_a_sentence_and_exit_code_5(hub, monkeypatch, fault):
    if fault == "silence":  # any other answer may take its time
        monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.05)
    monkeypatch.setattr(client, "token", lambda: SECRET)
    answer, sentence = FAULTS[fault]
    hub.gets = [answer] * 20
    code, out, err = run("models", "pull", NAME)
    assert code == 5
    last = err.strip().splitlines()[-1]
    assert last.startswith("specchat: ")
    assert sentence in last
    assert "Traceback" not in err
    assert SECRET not in out + err
    assert installed() == []


def test_without_a_hub_or_offline_the_exit_code_is_5_at_once(hub, monkeypatch):
    code, _, err = run("models", "pull", NAME, "--offline")
    assert code == 5
    assert "offline" in err
    assert hub.requests == []
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    code, _, err = run("models", "pull", NAME)
    assert code == 5
    assert re.search(r"cannot be reached.*online", err)


def test_a_token_is_for_the_hub_alone_and_never_seen(hub, hosted, tmp_path, monkeypatch):
    """The store that the hub redirects to is another origin."""
    monkeypatch.setattr(client, "token", lambda: SECRET)  # as if the hub were encrypted
    hub.gets = [lambda handler: handler.send_file(stop_after=1000)]
    code, out, err = run("models", "pull", hosted.name)
    assert code == 0
    told = [(path, headers.get("authorization")) for _, path, headers in hub.requests]
    assert {token for path, token in told if "/store/" not in path} == {f"Bearer {SECRET}"}
    stored = [headers for _, path, headers in hub.requests if "/store/" in path]
    assert len(stored) >= 2
    assert SECRET not in str(stored)
    assert SECRET not in out + err
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    assert not any(SECRET.encode() in path.read_bytes() for path in files)
