"""Why a step failed: the lines of its output that matter, and the command that fixes it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence

LINES, WIDTH = 10, 200
TELLING = (
    r":\d+: (fatal )?error: |fatal error: ",
    r"CMake Error",
    r"No space left|Killed|out of memory|ensurepip is not|No module named|connection broken by",
    r"DO NOT MATCH THE HASHES",
    r"^\s*(ERROR|error):|FAILED:",
)
"""What the first line that matters looks like; the compiler's own words are worth the most."""
PACKAGES = {
    "apt-get": (
        "apt-get install",
        {"c++": "g++", "venv": "python3-venv", "Python.h": "python3-dev"},
    ),
    "dnf": ("dnf install", {"c++": "gcc-c++", "venv": "python3", "Python.h": "python3-devel"}),
    "pacman": ("pacman -S", {"c++": "gcc", "venv": "python", "Python.h": "python"}),
    "zypper": (
        "zypper install",
        {"c++": "gcc-c++", "venv": "python3", "Python.h": "python3-devel"},
    ),
    "apk": ("apk add", {"c++": "g++", "venv": "python3", "Python.h": "python3-dev"}),
    "brew": ("brew install", {"venv": "python", "Python.h": "python"}),
}
"""How systems install packages, and what they call what may be missing."""
CAUSES = (
    (r"No space left|Disk quota exceeded", "The disk is full.", "df -h . ~   # make room"),
    (
        r"Temporary failure in name|Network is unreachable|Failed to establish|timed out|"
        r"Connection (refused|reset)|ProxyError|SSLError|No matching distribution found for pip",
        "The package index cannot be reached.",
        "pip config list   # check the connection, and what pip is set to",
    ),
    (r"ensurepip is not|No module named '?(venv|ensurepip)", "Python lacks venv.", "venv"),
    (r"Python\.h: No such file", "Python's headers are missing.", "Python.h"),
    (
        r"CMAKE_C(XX)?_COMPILER|No CMAKE_C|compiler.*not found|command '.*(gcc|cc|clang)' failed",
        "There is no C++ compiler that works.",
        "c++",
    ),
    (
        r"Killed|out of memory|[Cc]annot allocate",
        "Memory ran out.",
        "CMAKE_BUILD_PARALLEL_LEVEL=1 make llama",
    ),
    (r"DO NOT MATCH THE HASHES", "A package is not the one that was tested.", "pip cache purge"),
)
"""Signs in the output, what they mean, and what fixes it: a command, or what to install."""


def matters(lines: Sequence[str]) -> list[str]:
    """Return the ten lines of a command's output that tell why it failed."""
    for sign in TELLING:
        for number, line in enumerate(lines):
            if re.search(sign, line):
                return [each.strip()[:WIDTH] for each in lines[number : number + LINES]]
    return [each.strip()[:WIDTH] for each in lines[-LINES:]]


def diagnosis(lines: Sequence[str]) -> tuple[str, str | None]:
    """Return what is wrong in a sentence, and the command that fixes it, as far as it is known."""
    text = "\n".join(lines)
    for sign, sentence, remedy in CAUSES:
        if re.search(sign, text):
            return sentence, install(remedy) if remedy in PACKAGES["apt-get"][1] else remedy
    return "", None


def install(what: str) -> str:
    """Return the command that installs what is missing on this system."""
    for program, (command, names) in PACKAGES.items():
        if shutil.which(program) and what in names:
            alone = os.geteuid() == 0 or program == "brew"
            return f"{'' if alone else 'sudo '}{command} {names[what]}"
    compiler = "xcode-select --install   # or, elsewhere, your system's package of a C++ compiler"
    return compiler if what == "c++" else f"your system's package of {what}"
