"""A step that failed: the lines that matter, and the command that fixes it on this system."""

import pytest

from tui.set_up import trouble

COMPILED = [
    "  [11/87] Building CXX object ggml.cpp.o",
    "  FAILED: [code=1] ops.cpp.o",
    "  /usr/bin/c++ " + "-DGGML " * 100,
    "  ops.cpp:7:10: fatal error: arm_neon.h: No such file or directory",
    *(f"  note {number}" for number in range(30)),
    "ERROR: Failed building wheel for llama-cpp-python",
]


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Make a system with nothing on its PATH but the named programs."""

    def make(*programs):
        for name in programs:
            (tmp_path / name).write_text("#!/bin/sh\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(trouble.os, "geteuid", lambda: 1000)

    return make


def test_ten_lines_are_shown_from_the_compilers_first_error():
    shown = trouble.matters(COMPILED)
    assert shown[0] == "ops.cpp:7:10: fatal error: arm_neon.h: No such file or directory"
    assert len(shown) == trouble.LINES
    assert trouble.matters(["Collecting a", "ERROR: no", "more"]) == ["ERROR: no", "more"]
    assert trouble.matters([f"line {n}" for n in range(30)])[0] == "line 20"


@pytest.mark.parametrize(
    ("line", "program", "fix"),
    [
        ("CMake Error: CMAKE_CXX_COMPILER not set", "apt-get", "sudo apt-get install g++"),
        ("CMake Error: CMAKE_CXX_COMPILER not set", "pacman", "sudo pacman -S gcc"),
        ("CMake Error: CMAKE_CXX_COMPILER not set", "brew", "xcode-select --install"),
        ("ensurepip is not available.", "apt-get", "sudo apt-get install python3-venv"),
        ("a.c:1:1: fatal error: Python.h: No such file", "dnf", "sudo dnf install python3-devel"),
        ("a.c:1:1: fatal error: Python.h: No such file", "apk", "sudo apk add python3-dev"),
        ("c++: fatal error: Killed signal terminated", "dnf", "CMAKE_BUILD_PARALLEL_LEVEL=1"),
        ("OSError: [Errno 28] No space left on device", "brew", "df -h"),
        ("Temporary failure in name resolution", "zypper", "pip config list"),
    ],
)
def test_what_is_missing_comes_with_this_systems_command(system, line, program, fix):
    system(program)
    sentence, command = trouble.diagnosis(["Collecting a", line])
    assert sentence.endswith(".")
    assert str(command).startswith(fix)


def test_what_is_not_known_gets_no_command():
    assert trouble.diagnosis(["something else"]) == ("", None)
