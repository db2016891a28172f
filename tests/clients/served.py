"""Clients that people use, against a running server: `make test-clients`."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from assistant.request import AnyJob, EngineArgs, Request
from assistant.service import EventStream
from tests import tiny
from tests.assistant.serve.conftest import Running, Watched

HERE = Path(__file__).parent
AIDER = {
    "model": "openai/tiny", "openai-api-key": "none", "map-tokens": "0", "message": "Hello",
}  # fmt: skip
SWITCHES = "git", "check-update", "show-model-warnings", "gitignore"
LONG = 30_000  # tokens of an answer that is interrupted
AGENT = {"prompt": "Be brief.", "temperature": 0, "tools": {"*": False}}
AGENTS = {
    "build": AGENT,
    "reader": {**AGENT, "tools": {"*": False, "read": True}},
    "former": {**AGENT, "tools": {"*": False, "StructuredOutput": True}},
}
SCHEMA = {
    "type": "object", "properties": {"colour": {"enum": ["red", "blue"]}}, "required": ["colour"],
    "additionalProperties": False,
}  # fmt: skip


class Calling(Watched):
    """An engine whose model must call a tool, if it may, until a call has a result."""

    def do(self, job: AnyJob) -> EventStream:
        if isinstance(job, Request) and job.tools and job.messages[-1].role != "tool":
            job = replace(job, tool_choice="required", parallel_calls=False, max_tokens=None)
        return super().do(job)


def started(command: list[str], folder: Path) -> subprocess.Popen[str]:
    """Start an agent in an empty folder."""
    home = {**os.environ, "HOME": str(folder / "home"), "PWD": str(folder)}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=home, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True
    )


def outcome(running: Running, command: list[str], folder: Path, said: str = "") -> str:
    """Run an agent: whether it asked, was answered, and said something."""
    running.served.clear()
    done = started(command, folder)
    out, err = done.communicate()
    refused = {each.remark for each in running.served if each.path.endswith("s")}
    refused -= {"", "the client left"}  # an agent that has its answer waits for no title of it
    if done.returncode or refused or not running.served or said not in out:
        return f"failed: {refused or err[-200:] or out[-200:]}"
    return "ok"


def aborted(running: Running, command: list[str], folder: Path) -> str:
    """Interrupt an agent during an answer: whether it stops, and the next client is answered."""
    stopped, asked = running.stopped(), len(running.engine.asked)
    agent = started(command, folder)
    running.until(lambda: running.engine.asked[asked:] and running.engine.answers)
    while agent.returncode is None:  # two signals at once may be one
        agent.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            agent.communicate(timeout=1)
    running.until(lambda: running.stopped() > stopped)
    done = running.client().completions.create(model="tiny", prompt="Hello", max_tokens=2)
    return "ok" if done.usage and done.usage.completion_tokens == 2 else "failed"


def aider(running: Running, address: str, bin_: Path, folder: Path) -> list[str]:
    """Chat, stream and abort; it has no tools, forms or usage."""
    settings = folder / "settings.json"  # which is YAML, too

    def limit(tokens: int) -> None:
        own = {"name": "openai/tiny", "extra_params": {"max_tokens": tokens}}
        settings.write_text(json.dumps([own]))

    limit(40)
    own = {**AIDER, "openai-api-base": address, "model-settings-file": str(settings)}
    where = [*(f"--no-{name}" for name in SWITCHES), *(f"--{k}={v}" for k, v in own.items())]
    command = [str(bin_ / "aider"), "--yes-always", "--analytics-disable", *where]
    ways = ("--no-stream", "--stream")
    results = [outcome(running, [*command, how], folder) for how in ways]
    limit(LONG)
    return [*results, aborted(running, command, folder)]


def opencode(running: Running, address: str, bin_: Path, folder: Path) -> list[str]:
    """Chat, streamed with usage, a tool round trip, a structured answer, and an abort."""
    model = {"name": "tiny", "limit": {"context": 60_000, "output": 20}}
    endless = {"name": "endless", "limit": {"context": 60_000, "output": LONG}}
    where = {"baseURL": address, "apiKey": "none"}
    models = {"tiny": model, "endless": endless}
    own = {"npm": "@ai-sdk/openai-compatible", "options": where, "models": models}
    settings = {"provider": {"own": own}, "agent": AGENTS, "autoupdate": False}
    (folder / "opencode.json").write_text(json.dumps(settings))
    command = [str(bin_ / "opencode"), "run", "--format", "json", "-m"]
    return [
        outcome(running, [*command, "own/tiny", "Hello"], folder, '"output":20'),
        outcome(
            running, [*command, "own/tiny", "--agent", "reader", "Read"], folder, '"tool":"read"'
        ),
        structured([str(bin_ / "opencode"), "serve"], folder),
        aborted(running, [*command, "own/endless", "Hello"], folder),
    ]


def structured(command: list[str], folder: Path) -> str:
    """Ask opencode, which is a server then, for an answer that has a schema."""
    agent = started(command, folder)
    assert agent.stdout is not None

    def post(path: str, body: dict[str, object]) -> Any:
        kind = {"content-type": "application/json"}
        request = urllib.request.Request(f"{address}{path}", json.dumps(body).encode(), kind)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    try:
        address = next(line.split()[-1] for line in agent.stdout if "http://" in line)
        done = post(f"/session/{post('/session', {})['id']}/message", {
            "agent": "former", "model": {"providerID": "own", "modelID": "tiny"},
            "parts": [{"type": "text", "text": "Hello"}],
            "format": {"type": "json_schema", "schema": SCHEMA},
        })  # fmt: skip
        return "ok" if done["info"]["structured"]["colour"] in ("red", "blue") else "failed"
    finally:
        agent.terminate()
        agent.communicate()


def main(folder: Path) -> int:
    """Serve a tiny model, and have clients do what they do.

    `python/` and `aider/` in the folder have them for Python, `node_modules/` for Node.
    """
    # What runs in a shell's background ignores it, and agents that it starts would do so, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    agents: dict[Callable[[Running, str, Path, Path], list[str]], Path] = {
        aider: folder / "aider/bin", opencode: folder / "node_modules/.bin",
    }  # fmt: skip
    model = tiny.write(folder / "calling.gguf", stops=False, n_ctx=65_536)
    setup = EngineArgs(model, n_ctx=65_536, threads=1, measure=False)
    running = Running(setup, engine=Calling())
    address = f"http://127.0.0.1:{running.port}/v1"
    try:
        python = [str(folder / "python/bin/python"), str(HERE / "calls.py"), address]
        failed = subprocess.run(python, check=False).returncode
        (folder / "calls.mjs").write_text((HERE / "calls.mjs").read_text())
        failed |= subprocess.run(["node", str(folder / "calls.mjs"), address]).returncode
        for agent, bin_ in agents.items():
            with tempfile.TemporaryDirectory() as work:
                (Path(work) / "home").mkdir()
                results = agent(running, address, bin_, Path(work))
            failed |= results != ["ok"] * len(results)
            print(f"{agent.__name__:16} {' | '.join(results)}", flush=True)
    finally:
        running.close()
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
