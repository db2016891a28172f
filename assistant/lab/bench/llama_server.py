"""Another program on the same prompts: llama.cpp's own server, over the loopback interface alone.

It is started only when a user names its binary, and ended with the run.
"""

import http.client
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from time import monotonic, sleep
from typing import IO, Any

import msgspec

from assistant.chat.template import CHATML, ChatTemplate
from assistant.lab.bench.events import Measured
from assistant.request import Request, Setup
from assistant.stats import Stats
from models import child_process
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
_LEASH = (  # it does not outlive the one that started it
    "import ctypes, os, sys\n"
    f"if sys.platform == 'linux': ctypes.CDLL(None).prctl({PR_SET_PDEATHSIG}, {signal.SIGKILL:d})\n"
    "os.execv(sys.argv[1], sys.argv[1:])"
)


def body(asked: Request, template: ChatTemplate, lookahead: int | None) -> dict[str, Any]:
    """Return the question as the server wants it; None leaves the lookahead to it, 0 is none."""
    sampling = asked.sampling
    most = {} if lookahead is None else {"speculative.n_max": lookahead}
    return most | {
        "prompt": template.render(asked.messages),
        "n_predict": asked.max_tokens,
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "repeat_penalty": sampling.repeat_penalty,
        "repeat_last_n": sampling.repeat_window,
        "samplers": ["penalties", "temperature", "top_k", "top_p", "min_p"],
        "seed": -1 if asked.seed is None else asked.seed,
        "cache_prompt": False,
        "stream": False,
    }


class Timings(msgspec.Struct):
    """Its own times, and counts of tokens."""

    predicted_n: int
    predicted_ms: float
    prompt_n: int
    prompt_ms: float
    draft_n: int = 0
    draft_n_accepted: int = 0


class ServerAnswer(msgspec.Struct):
    """What the server tells of its answer."""

    content: str
    timings: Timings
    stop_type: str = ""

    @property
    def measured(self) -> Measured:
        """The answer and its figures."""
        times, tokens = self.timings, self.timings.predicted_n
        # Its clock starts at the first token, which it counts.
        decode_s = times.predicted_ms / 1000 * tokens / max(1, tokens - 1)
        stats = Stats(
            "sps" if times.draft_n else "ars",
            rounds=max(1, tokens - times.draft_n_accepted),
            drafted=times.draft_n,
            accepted=times.draft_n_accepted,  # of the drafted; how many were tested is not told
            prompt_tokens=times.prompt_n,
            generated_tokens=tokens,
            prefill_s=times.prompt_ms / 1000,
            first_token_s=times.prompt_ms / 1000,
            decode_s=decode_s,
            verify_s=decode_s,
        )
        return Measured(self.content, self.stop_type, stats)


@dataclass(frozen=True, slots=True)
class Way:
    """How a server decodes: the options that it is started with."""

    name: str
    options: tuple[str, ...] = ()
    lookahead: int | None = None  # tokens that a round may propose; None: as it likes


PLAIN = Way(NAME, lookahead=0)


class LlamaServer:
    """A llama-server, which starts at the first question; its complaints go to a log."""

    def __init__(self, binary: Path, setup: Setup, way: Way, log: IO[bytes]) -> None:
        self.name = way.name
        self._binary, self._setup, self._way = binary, setup, way
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self._template = ChatTemplate(read(setup.target).template, CHATML)

    def measure(self, asked: Request) -> Measured:
        """Answer a question from cold caches.

        Raises:
            ModelError: the program cannot be run, or does not answer as llama-server does.
        """
        if self._process is None:
            self._start()
        question = body(asked, self._template, self._way.lookahead)
        return self._ask(json.dumps(question)).measured

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            child_process.end(self._process)
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
                raise ModelError(f"{self._binary} ended immediately: {self._last_words()}")
            if monotonic() > deadline:
                raise ModelError(f"{self._binary} was not ready within {LOADING_S:.0f} seconds.")
            sleep(0.05)

    def _is_ready(self) -> bool:
        try:
            return self._answer("GET", "/health", None, 5)[0] == http.client.OK
        except (OSError, http.client.HTTPException):
            return False

    def _ask(self, body: str) -> ServerAnswer:
        try:
            status, content = self._answer("POST", "/completion", body, ANSWER_S)
        except (OSError, http.client.HTTPException) as error:
            raise ModelError(f"{self._binary} gave no answer: {self._last_words()}") from error
        if status != http.client.OK:
            said = content[:200].decode("utf-8", "replace")
            raise ModelError(f"{self._binary} answered {status}: {said}")
        try:
            return msgspec.json.decode(content, type=ServerAnswer)
        except msgspec.MsgspecError as error:
            raise ModelError(f"{self._binary} is not a llama-server: {error}.") from error

    def _answer(
        self, method: str, path: str, body: str | None, timeout_s: float
    ) -> tuple[int, bytes]:
        """Return the status and the content of what the server answers."""
        with closing(http.client.HTTPConnection(HOST, self._port, timeout=timeout_s)) as connection:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()

    def _last_words(self) -> str:
        self._log.flush()
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:200] if lines else "it printed nothing."


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def servers(
    binary: Path, setup: Setup, lookaheads: Sequence[int | None]
) -> Iterator[list[LlamaServer]]:
    """Have a server at hand for each way to decode that the program has; they are ended after it.

    Without speculation; with the draft, and the first lookahead there is; and with n-grams of the
    text, as it does that by itself.

    Raises:
        UsageError: it is no program.
        ModelError: it does not say what it can do.
    """
    k = next((each for each in lookaheads if each), 4)
    ways = [PLAIN, *_ways(_help(binary), setup.draft, k)]
    with TemporaryFile() as log, ExitStack() as started:
        found = [LlamaServer(binary, setup, way, log) for way in ways]
        for server in found:
            started.callback(server.close)
        yield found


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
    except OSError as error:
        raise UsageError(f"{binary} is not a program; give the path of a llama-server.") from error
    except subprocess.TimeoutExpired as error:
        raise ModelError(f"{binary} does not print its options: {error}.") from error
    return asked.stdout.decode("utf-8", "replace")
