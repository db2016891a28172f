"""`specchat doctor`: what works on this machine, and the commands that fix the rest."""

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Literal

import click

from assistant.engine.engine_choice import choose_engine
from assistant.request import EngineArgs
from assistant.settings.config_file import read
from models import catalog, engines, ik, machine
from models.drafts import own_draft
from models.engines import ENGINES, PACKAGES, EngineName
from models.errors import ModelError, UsageError
from models.files import checksum, disk, places
from models.files.locate import identify
from models.files.stores import find_gguf
from models.native import loaded, repacked
from tui.formatting import size
from tui.safe import safe

ADVANTAGE: dict[EngineName, str] = {
    "llama": "it computes on GPUs, and runs files that ik_llama.cpp refuses",
    "ik": "on many processors it is faster",
}
"""The advantage of an engine, shown if it is missing."""
MARKS = {"ok": ("✓", "green"), "note": ("·", "yellow"), "bad": ("✗", "red")}


@dataclass(frozen=True, slots=True)
class Finding:
    """A result: its verdict, and the fix if it is bad."""

    topic: str
    verdict: Literal["ok", "note", "bad"]
    text: str
    fix: str | None = None


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(as_json: bool) -> None:
    """See what works on this machine, and how to fix the rest. Changes nothing."""
    findings = checkup()
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings]))
    else:
        for finding in findings:
            mark, colour = MARKS[finding.verdict]
            click.echo(f"{click.style(mark, colour)} {finding.topic:<12} {safe(finding.text)}")
            if finding.fix:
                click.echo(f"{'':15} fix it with:  {safe(finding.fix)}")
    if any(finding.verdict == "bad" for finding in findings):
        sys.exit(3)


def checkup() -> list[Finding]:
    """Check everything, without changing anything or opening a connection."""
    first = engines.default_engine()
    others = (_other_engine(name) for name in ENGINES if name != first)
    return [*chain(_versions(), _settings(), _engine(first), *others, _machine(), _pair())]


def _versions() -> Iterator[Finding]:
    yield Finding("specchat", "ok", f"{version('specchat')} on Python {platform.python_version()}")
    yield Finding("system", "ok", f"{platform.system()} {platform.release()}, {platform.machine()}")
    if sys.platform == "darwin" and platform.machine() != "arm64" and "ARM" in platform.version():
        text = "This Python is made for Intel and runs translated, ten times slower."
        yield Finding("system", "bad", text, "install an arm64 Python and specchat again")


def _settings() -> Iterator[Finding]:
    try:
        yield from (Finding("settings", "note", f"{warning}.") for warning in read().warnings)
    except UsageError as error:
        yield from (Finding("settings", "bad", line) for line in str(error).splitlines())


def _engine(name: EngineName) -> Iterator[Finding]:
    """Load the first engine, and report its devices and features."""
    title, package = ENGINES[name], PACKAGES[name]
    try:
        engine = loaded.use(name)
    except ModelError as error:
        fix = package.reinstall if name in engines.installed() else engines.how_to_install(name)
        yield Finding(title, "bad", str(error), fix)
        return
    # The features that are on in llama.cpp's list `NAME = 1 | NAME = 0`.
    parts = (part.split("=") for part in engine.features().replace("CPU :", "").split("|"))
    on = " ".join(part[0].strip() for part in parts if part[-1].strip() == "1")
    yield Finding(title, "ok", f"{engine.version}, {package.name} {version(package.name)}")
    yield Finding("processor", "ok", f"{', '.join(engine.devices())}: {on}")
    if not engine.can_repack:
        text = "Built with AMX kernels, which crash with some compilers; repacked weights are off."
        fix = f"CFLAGS=-mno-amx-int8 CXXFLAGS=-mno-amx-int8 {package.reinstall}"
        yield Finding("processor", "note", text, fix)
    gpu = "this build offloads to it" if engine.offloads_to_gpu else "none in this build"
    yield Finding("GPU", "ok" if engine.offloads_to_gpu else "note", gpu)


def _other_engine(name: EngineName) -> Iterator[Finding]:
    """Load another engine in a separate process."""
    title, package = ENGINES[name], PACKAGES[name]
    if name not in engines.installed():
        text = f"not installed; {ADVANTAGE[name]}"
        yield Finding(title, "note", text, engines.how_to_install(name))
    elif reason := loaded.load_error(name):
        yield Finding(title, "note", f"{reason} llama.cpp works without it.")
    else:
        native = ", compiled for this processor" if name == "ik" and ik.compiled_library() else ""
        yield Finding(title, "ok", f"{package.name} {version(package.name)}{native}")


def _machine() -> Iterator[Finding]:
    yield Finding("cores", "ok", f"{machine.compute_cores()} used, one thread on each")
    memory, pair = machine.memory(), catalog.DEFAULT
    need = pair.target.size + pair.draft.size + 1e9
    text = f"{size(memory.free)} of {size(memory.total)} free; the default pair wants {size(need)}"
    yield Finding("memory", "ok" if memory.free > need else "note", text)
    folder = places.hub_cache()
    existing = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    free = shutil.disk_usage(existing).free
    text = f"{size(free)} free where models go, {folder}; downloads must leave {size(disk.SPARE)}"
    yield Finding("disk", "ok" if free > disk.SPARE else "note", text)
    copied, limit = size(repacked.copied_bytes()), size(repacked.LIMIT)
    yield Finding("copies", "ok", f"{copied} of models that load at once, of {limit} at most")


def _pair() -> Iterator[Finding]:
    """Check the default pair, the draft made for it here, and the chosen engine."""
    target, draft = catalog.DEFAULT.target, catalog.DEFAULT.draft
    paths = [find_gguf(entry) for entry in (target, draft)]
    for entry, path in zip((target, draft), paths, strict=True):
        if path is None:
            fix = f"specchat models pull {entry.name}"
            yield Finding("model", "bad", f"{entry.name} is not on this machine.", fix)
        else:
            verified = checksum.known_sha256(path) == entry.sha256
            how = "verified" if verified else "verified when first used"
            yield Finding("model", "ok", f"{entry.name}, {how}: {path}")
    if paths[0] is None or paths[1] is None:
        return
    if made := own_draft(identify(target.name)):
        yield Finding("model", "ok", f"made to guess for {target.name}: {made.path}")
    else:
        text = f"No faster draft was made for {target.name} yet; its draft is used as downloaded."
        yield Finding("model", "note", text, f"specchat models pull {catalog.DEFAULT.name}")
    yield from _choice(paths[0])


def _choice(target: Path) -> Iterator[Finding]:
    with suppress(ModelError):  # a faulty file is reported elsewhere
        choice = choose_engine(EngineArgs(target, cache=places.cache_dir()))
        yield Finding("engine", "ok", f"{ENGINES[choice.engine]}. {choice.reason}")
