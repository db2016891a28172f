"""Clients that people use, against a running server: `make test-clients`."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from assistant.request import EngineArgs
from tests import tiny
from tests.assistant.serve.conftest import Running

HERE = Path(__file__).parent
AIDER = {
    "model": "openai/tiny", "openai-api-key": "none", "map-tokens": "0", "message": "Hello",
}  # fmt: skip
SWITCHES = "git", "check-update", "show-model-warnings", "gitignore"
AIDER_SETTINGS = [{"name": "openai/tiny", "extra_params": {"max_tokens": 40}}]
AGENT = {"build": {"prompt": "Be brief.", "temperature": 0, "tools": {"*": False}}}


def outcome(running: Running, command: list[str], folder: Path, said: str = "") -> str:
    """Run an agent in an empty folder: whether it asked, was answered, and said something."""
    running.served.clear()
    home = {**os.environ, "HOME": str(folder / "home"), "PWD": str(folder)}
    done = subprocess.run(
        command, cwd=folder, env=home, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    refused = [each.remark for each in running.served if each.path.endswith("s") and each.remark]
    if done.returncode or refused or not running.served or said not in done.stdout:
        return f"failed: {refused or done.stderr[-200:] or done.stdout[-200:]}"
    return "ok"


def aider(running: Running, address: str, bin_: Path, folder: Path) -> list[str]:
    """Chat, and stream; it has no tools, forms or usage."""
    settings = folder / "settings.json"  # which is YAML, too
    settings.write_text(json.dumps(AIDER_SETTINGS))
    own = {**AIDER, "openai-api-base": address, "model-settings-file": str(settings)}
    where = [*(f"--no-{name}" for name in SWITCHES), *(f"--{k}={v}" for k, v in own.items())]
    command = [str(bin_ / "aider"), "--yes-always", "--analytics-disable", *where]
    return [outcome(running, [*command, how], folder) for how in ("--no-stream", "--stream")]


def opencode(running: Running, address: str, bin_: Path, folder: Path) -> list[str]:
    """Chat, streamed with usage; a random model calls none of its tools."""
    model = {"name": "tiny", "limit": {"context": 60_000, "output": 20}}
    where = {"baseURL": address, "apiKey": "none"}
    own = {"npm": "@ai-sdk/openai-compatible", "options": where, "models": {"tiny": model}}
    settings = {"provider": {"own": own}, "agent": AGENT, "autoupdate": False}
    (folder / "opencode.json").write_text(json.dumps(settings))
    command = [str(bin_ / "opencode"), "run", "-m", "own/tiny", "--format", "json", "Hello"]
    return [outcome(running, command, folder, '"output":20')]


def main(folder: Path) -> int:
    """Serve a tiny model, and have clients do what they do.

    `python/` and `aider/` in the folder have them for Python, `node_modules/` for Node.
    """
    agents: dict[Callable[[Running, str, Path, Path], list[str]], Path] = {
        aider: folder / "aider/bin", opencode: folder / "node_modules/.bin",
    }  # fmt: skip
    model = tiny.write(folder / "calling.gguf", stops=False, n_ctx=65_536)
    running = Running(EngineArgs(model, n_ctx=65_536, threads=1, measure=False))
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
