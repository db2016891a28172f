"""Another program on the same prompts: llama.cpp's own server, over the loopback interface alone.

It is started only when a person names its binary, and ended with the run.
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any

from assistant.chat.template import CHATML, ChatTemplate
from assistant.lab.bench.events import Measured
from assistant.lab.bench.llama_server_api import ServerQuestion, body, measured
from assistant.request import Setup
from models.errors import ModelError, UsageError
from models.gguf import read
from models.machine import physical_cores

HOST = "127.0.0.1"
NAME = "llama-server"
LOADING_S = 300.0
"""Seconds that it may take to load its models."""
ANSWER_S = 1800.0
HELP_S = 30.0
PR_SET_PDEATHSIG = 1
_LEASH = (  # it does not outlive whoever started it
    "import ctypes, os, sys\n"
    f"if sys.platform == 'linux': ctypes.CDLL(None).prctl({PR_SET_PDEATHSIG}, {signal.SIGKILL:d})\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


@dataclass(frozen=True, slots=True)
class Way:
    """How a server decodes: the options that it is started with."""

    name: str
    options: tuple[str, ...] = ()
    lookahead: int | None = None  # tokens that a round may propose; None: as it likes


PLAIN = Way(NAME, lookahead=0)


class LlamaServer:
    """A llama-server, which speculates or does not; it starts at the first question.

    Args:
        binary: the program.
        setup: which models, and how.
        way: how it decodes.
        log: where its complaints go.
    """

    def __init__(self, binary: Path, setup: Setup, way: Way, log: IO[bytes]) -> None:
        self.name = way.name
        self._binary, self._setup, self._way = binary, setup, way
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        header = read(setup.target)
        self._template = ChatTemplate(header.template, CHATML)

    def measure(self, asked: ServerQuestion) -> Measured:
        """Answer a question from cold caches.

        Raises:
            ModelError: the program cannot be run, or does not answer as llama-server does.
        """
        if self._process is None:
            self._start()
        question = body(asked, self._template, self._way.lookahead)
        return measured(self._ask("POST", "/completion", json.dumps(question)))

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _command(self) -> list[str]:
        setup = self._setup
        options: list[object] = ["-m", setup.target, "--host", HOST, "--port", self._port]
        options += ["-c", setup.n_ctx, "--parallel", 1]
        options += ["-t", setup.threads or physical_cores()]
        if setup.gpu_layers is not None:
            options += ["-ngl", setup.gpu_layers]
        options += self._way.options
        return [sys.executable, "-c", _LEASH, str(self._binary), *map(str, options)]

    def _start(self) -> None:
        self._port = _free_port()
        try:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                start_new_session=True,  # the terminal's signals are not for it
            )
        except OSError as error:
            raise ModelError(f"{self._binary} cannot be started: {error.strerror}.") from error
        deadline = monotonic() + LOADING_S
        while not self._is_ready():
            if self._process.poll() is not None:
                raise ModelError(f"{self._binary} ended at once: {self._last_words()}")
            if monotonic() > deadline:
                raise ModelError(f"{self._binary} was not ready within {LOADING_S:.0f} seconds.")
            sleep(0.05)

    def _is_ready(self) -> bool:
        connection = http.client.HTTPConnection(HOST, self._port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _ask(self, method: str, path: str, body: str) -> Any:
        connection = http.client.HTTPConnection(HOST, self._port, timeout=ANSWER_S)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ModelError(f"{self._binary} gave no answer: {self._last_words()}") from error
        finally:
            connection.close()
        if response.status != http.client.OK:
            said = content[:200].decode("utf-8", "replace")
            raise ModelError(f"{self._binary} answered {response.status}: {said}")
        try:
            return json.loads(content)
        except ValueError as error:
            raise ModelError(f"{self._binary} answered with something that is no JSON.") from error

    def _last_words(self) -> str:
        self._log.flush()
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:200] if lines else "it said nothing."


def check(binary: Path) -> None:
    """Refuse what cannot be a program.

    Raises:
        UsageError: it is none.
    """
    if not binary.is_file() or not os.access(binary, os.X_OK):
        raise UsageError(f"{binary} is no program; give the path of a llama-server.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


def servers(
    binary: Path, setup: Setup, lookaheads: Sequence[int | None], log: IO[bytes]
) -> list[LlamaServer]:
    """Return a server for each way to decode that the program has.

    Without speculation; with the draft, and the first lookahead there is; and with n-grams of the
    text, as it does that by itself.
    """
    check(binary)
    k = next((each for each in lookaheads if each), 4)
    ways = [PLAIN, *_ways(_help(binary), setup.draft, k)]
    return [LlamaServer(binary, setup, way, log) for way in ways]


def _ways(options: str, draft: Path | None, k: int) -> Iterator[Way]:
    """Yield the ways to speculate, in the words of the version at hand."""
    if draft is not None:
        kind = ("--spec-type", "draft-simple") if "draft-simple" in options else ()
        most = "--spec-draft-n-max" if "--spec-draft-n-max" in options else "--draft-max"
        yield Way(f"{NAME}={k}", ("-md", str(draft), *kind, most, str(k)), k)
    if "ngram-simple" in options:
        yield Way(f"{NAME}:ngram", ("--spec-type", "ngram-simple"))


def _help(binary: Path) -> str:
    try:
        asked = subprocess.run([binary, "--help"], capture_output=True, timeout=HELP_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ModelError(f"{binary} does not say how it is used: {error}.") from error
    return asked.stdout.decode("utf-8", "replace")
