"""Rewrite a GGUF file with 4-bit weights, in a process of its own.

Engines cannot be stopped while they quantise, and end their process over some files. That process
is `python -m models.native.quantize ENGINE SOURCE PLACE`, and the number of this one.
"""

import sys
from pathlib import Path
from typing import cast

from models import child_process, engines
from models.engines import ENGINES, EngineName
from models.errors import ModelError, SpecchatError
from models.native import loaded


def quantize(source: Path, place: Path) -> None:
    """Write `source` to `place` with every matrix as Q4_0.

    Raises:
        ModelError: no engine here can; the text has the reason. What was written is for the caller
            to remove.
    """
    engine = engines.first()
    if engine not in engines.installed():
        raise ModelError(f"{source} cannot be requantised. {engines.missing('llama')}")
    _, complaint = child_process.run(__name__, engine, source, place)
    if complaint is not None:
        title = ENGINES[engine]
        reason = complaint or f"{title} ended abruptly"
        raise ModelError(f"{title} cannot requantise {source}: {reason}.")


if __name__ == "__main__":
    name, source, place, parent = sys.argv[1:]
    child_process.die_with(int(parent))
    try:
        sys.exit(loaded.use(cast(EngineName, name)).quantize(Path(source), Path(place)))
    except (SpecchatError, OSError) as error:
        sys.exit(str(error))
