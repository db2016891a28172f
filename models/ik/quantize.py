"""Requantise a file with ik_llama.cpp: the process that `models.native.quantize` starts."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from models import child_process
from models.machine import physical_cores


def become(source: str, place: str, kind: str) -> None:
    """Replace this process with the `llama-quantize` of the package, by exec.

    Raises:
        OSError: it cannot be run.
    """
    package = find_spec("ik_llama_cpp")
    assert package is not None
    assert package.origin is not None
    program = Path(package.origin).parent / "bin" / "llama-quantize"
    options = ("--allow-requantize", "--pure")
    os.execv(program, [str(program), *options, source, place, kind, str(physical_cores())])


if __name__ == "__main__":
    source, place, kind, parent = sys.argv[1:]
    child_process.die_with(int(parent))
    try:
        become(source, place, kind)
    except OSError as error:
        sys.exit(str(error))
