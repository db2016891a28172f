"""`specchat serve` as a shell and other programs see it."""

import errno
import json
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

import openai
import psutil
import pytest

from assistant.request import EngineArgs
from models.errors import ModelMissing, UsageError
from tests import ROOT
from tests.assistant.process.landlock import connect_bound
from tests.patience import WAIT_S
from tests.tui.shell.program import invoke
from tests.tui.shell.serving import complete, head, serving
from tui.shell.engine_console import EngineConsole
from tui.shell.serve import EDITORS, lines_for, serve


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
@pytest.mark.some(1)
def test_it_serves_until_it_is_told_to_end(target, number, code):
    with serving("--target", target) as (process, url):
        assert url.startswith("http://127.0.0.1:")
        assert complete(url, "target").usage.completion_tokens == 5
        workers = psutil.Process(process.pid).children(recursive=True)
        with socket.create_connection(("127.0.0.1", int(url[:-3].rpartition(":")[2]))) as client:
            client.sendall(b"GET /v1/models HTTP/1.1\r\nHost:")  # in the middle of a request
            process.send_signal(number)
            out, err = process.communicate(timeout=WAIT_S)
            with suppress(ConnectionResetError):  # what it sent may not have been read
                assert client.recv(10) == b""
        assert process.returncode == code
    assert workers
    assert psutil.wait_procs(workers, WAIT_S)[1] == []
    assert out == ""
    assert "POST /v1/chat/completions 200" in err
    assert "Traceback" not in err


def test_it_says_why_no_model_guesses(target):
    with serving("--target", target, "--mode", "auto") as (process, url):
        complete(url, "target")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=WAIT_S)
    assert "Guesses come from the conversation alone. No smaller model here" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1])
@pytest.mark.some(2)
def test_the_clients_of_an_ended_server_are_told_in_json(endless, number):
    hello = [{"role": "user", "content": "Hello"}]
    body = json.dumps({"model": "target", "messages": hello, "stream": True})
    with serving("--target", endless, "--temperature", "1.5", "--ctx", "30000") as (process, url):
        address = ("127.0.0.1", int(url[:-3].rpartition(":")[2]))
        with socket.create_connection(address) as half, socket.create_connection(address) as whole:
            half.sendall(head(1000).encode() + b'{"model"')
            whole.sendall(f"{head(len(body))}{body}".encode())
            answers = whole.makefile("r"), half.makefile("r")
            assert any(line.startswith("data: ") for line in answers[0])
            process.send_signal(number)
            stream, refusal = (answer.read() for answer in answers)
        assert process.wait(WAIT_S) == 0
    assert '"error"' in stream
    assert refusal.startswith("HTTP/1.1 503")
    assert "being stopped" in json.loads(refusal.rpartition("\n")[2])["error"]["message"]


def test_others_need_the_token_that_is_printed(target):
    with serving("--target", target, "--host", "0.0.0.0") as (process, url):
        told = process.stderr.readline() + process.stderr.readline()
        token = told.rpartition("token: ")[2].strip()
        local = url.replace("0.0.0.0", "127.0.0.1")
        assert complete(local, "target", token).usage.completion_tokens == 5
        with pytest.raises(openai.AuthenticationError):
            complete(local, "target", token[:-1])


def test_a_token_that_is_given_is_demanded_on_this_machine_too_and_not_shown(target, tmp_path):
    (tmp_path / "token").write_text("open-sesame\n")
    told = ("--target", target, "--token-file", tmp_path / "token")
    with serving(*told) as (process, url):
        assert complete(url, "target", "open-sesame").usage.completion_tokens == 5
        with pytest.raises(openai.AuthenticationError):
            complete(url, "target")
        process.send_signal(signal.SIGTERM)
        assert "sesame" not in process.communicate()[1]
        assert process.returncode == 0


def test_a_token_in_the_environment_is_one_word():
    with pytest.raises(UsageError, match="one word"):
        invoke(serve, "--port", "0", env={"SPECCHAT_TOKEN": "two words"})


def test_a_server_recalls_and_saves_nothing_and_has_memory_for_several_conversations(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[EngineArgs] = []

    def run(console: EngineConsole, setup: EngineArgs, stoppable: bool) -> None:
        loaded.append(setup)
        raise ModelMissing("enough")

    monkeypatch.setattr(EngineConsole, "run", run)
    monkeypatch.setattr("tui.shell.serve.forbid_connections", lambda: None)
    with pytest.raises(ModelMissing, match="enough"):
        invoke(serve, "--port", "0", "--target", target, "--learn", "--save")
    (setup,) = loaded
    assert (setup.recalls, setup.snapshots, setup.memory) == (False, 0, 512 << 20)


def test_a_port_that_is_taken_is_told_before_anything_is_loaded():
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(UsageError, match="Choose another --port or --host"),
    ):
        invoke(serve, "--port", taken.getsockname()[1], "--target", "no/such.gguf")


@pytest.mark.skipif(connect_bound() == "unsupported", reason="needs Landlock for networks")
def test_a_server_could_not_connect_if_it_wanted_to(target, tmp_path):
    """The code below runs in its process, after the models are loaded."""
    (tmp_path / "sitecustomize.py").write_text(
        "import socket, tui.shell.serve as serving\n"
        "def log(*_):\n"
        "    client = socket.socket()\n"
        "    print('errno', client.connect_ex(('127.0.0.1', 9)), flush=True)\n"
        "serving._log = log\n"
    )
    environment = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    with serving("--target", target, env=environment) as (process, _):
        assert process.stdout.readline() == f"errno {errno.EACCES}\n"


def test_an_editor_is_set_up_with_the_lines_that_are_printed(target):
    with serving("--target", target, "--editor", "vim") as (process, url):
        assert process.stdout
        root = url.removesuffix("/v1")
        assert process.stdout.readline() == lines_for("vim", root, "target") + "\n"
        assert f"'{root}/infill'" in lines_for("vim", root, "target")


@pytest.mark.parametrize("name", EDITORS)
def test_the_manual_has_the_lines_for_each_editor(name):
    lines = lines_for(name, "http://127.0.0.1:8471", "qwen2.5-coder-1.5b")
    assert f"```\n{lines}\n```" in (ROOT / "docs" / "serving.md").read_text("utf-8")
