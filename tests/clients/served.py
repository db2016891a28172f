"""Clients that people use, against a running server: `make test-clients`."""

import subprocess
import sys
import tempfile
from pathlib import Path

from assistant.request import EngineArgs
from tests import tiny
from tests.assistant.serve.conftest import Running


def main(python: str) -> int:
    """Serve a tiny model, and have the clients of a Python do what they do."""
    with tempfile.TemporaryDirectory() as folder:
        model = tiny.write(Path(folder) / "calling.gguf", stops=False, n_ctx=8192)
        running = Running(EngineArgs(model, n_ctx=8192, threads=1, measure=False))
        try:
            calls = Path(__file__).with_name("calls.py")
            address = f"http://127.0.0.1:{running.port}/v1"
            done = subprocess.run([python, calls, address], check=False)
        finally:
            running.close()
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
