"""Rewrite a GGUF file with other types of weights or fewer layers, in a separate process.

Engines cannot be stopped while they quantise, and end their process over some files.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from models import child_process, engines
from models.engines import ENGINES
from models.errors import ModelError


def quantize(
    source: Path,
    place: Path,
    kind: str | None,
    dropped: Sequence[int] = (),
    kinds: Mapping[str, int] | None = None,
) -> None:
    """Write `source` to `place`, every matrix as `kind` (None: as it is) and layers left out.

    `kinds` gives tensors ggml's types by their names, instead of `kind`. The engine copies what
    has its type already; what it does to a tensor that is not named is its own choice.

    Raises:
        ModelError: no engine here can; the text has the reason. What was written is for the caller
            to remove.
    """
    names = engines.installed()
    engine = "llama" if "llama" in names or dropped or kinds or not kind else "ik"
    if engine not in names:
        raise ModelError(f"{source} cannot be requantised. {engines.missing('llama')}")
    process = child_process.start(
        f"models.{engine}.quantize",
        source,
        place,
        kind or "",
        ",".join(map(str, dropped)),
        stdin=subprocess.PIPE,  # the names of all tensors may be too much for an argument
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        _, said = process.communicate(json.dumps(kinds or {}).encode())
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        title = ENGINES[engine]
        lines = said.decode("utf-8", "replace").strip().splitlines()
        reason = lines[-1] if process.returncode == 1 and lines else f"{title} ended abruptly"
        raise ModelError(f"{title} cannot requantise {source}: {reason}.")
