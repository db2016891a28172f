"""Rewrite a GGUF file with another type of weights, in a separate process.

Engines cannot be stopped while they quantise, and end their process over some files.
"""

import subprocess
from pathlib import Path

from models import child_process, engines
from models.engines import ENGINES
from models.errors import ModelError


def quantize(source: Path, place: Path, kind: str) -> None:
    """Write `source` to `place` with every matrix as `kind`.

    Raises:
        ModelError: no engine here can; the text has the reason. What was written is for the caller
            to remove.
    """
    engine = engines.first()
    if engine not in engines.installed():
        raise ModelError(f"{source} cannot be requantised. {engines.missing('llama')}")
    process = child_process.start(
        f"models.{engine}.quantize",
        source,
        place,
        kind,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        _, said = process.communicate()
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        title = ENGINES[engine]
        lines = said.decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1] if process.returncode == 1 and lines else f"{title} ended abruptly"
        raise ModelError(f"{title} cannot requantise {source}: {reason}.")
