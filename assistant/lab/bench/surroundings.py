"""What the figures of a run depend on, besides what was asked."""

import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from models.engines import PACKAGES
from models.files.checksum import known_sha256
from models.machine import physical_cores, processor


def surroundings(files: Mapping[str, Path]) -> dict[str, Any]:
    """Return this computer, the versions of all that computes, and the files, given by role."""
    uname = platform.uname()
    libraries = ("specchat", *(package.name for package in PACKAGES.values()), "numpy")
    return {
        "machine": {
            "processor": processor(),
            "cores": physical_cores(),  # that this process may use
            "memory": psutil.virtual_memory().total,
            "system": f"{uname.system} {uname.release} {uname.machine}",
        },
        "versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in libraries},
        },
        "files": {
            role: {
                "path": os.fsencode(path).decode("utf-8", "backslashreplace"),
                "size": path.stat().st_size,
                "sha256": known_sha256(path),
            }
            for role, path in files.items()
        },
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
