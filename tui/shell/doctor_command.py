"""`specchat doctor`: what works on this machine, and the exact command that fixes the rest."""

import json
import platform
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import click
import psutil

from assistant.chat.template_audit import examine
from models import catalog, engines, gguf
from models.catalog import GGUF
from models.drafts import made_here
from models.engines import ENGINES, PACKAGES, EngineName
from models.errors import ModelError
from models.files import checksum, places
from models.files.locate import identify
from models.files.stores import find, installed
from models.machine import physical_cores
from models.native import loaded
from models.native.loaded import load_error
from tui.models.facts import taken_back
from tui.safe import safe

GIB = 1 << 30
WORTH: dict[EngineName, str] = {
    "llama": "it computes on GPUs, several answers at once, and files that ik_llama.cpp refuses",
    "ik": "on many processors it is faster",
}
"""What an engine is good for where it is missing."""
MARKS = {"ok": ("✓", "green"), "note": ("·", "yellow"), "bad": ("✗", "red")}


@dataclass(frozen=True, slots=True)
class Finding:
    """An answer: how it is, and what to do if it is bad."""

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
        # Scripts may still read the key's old name, which the next release leaves out.
        told = [asdict(finding) | {"mend": finding.fix} for finding in findings]
        click.echo(json.dumps(told))
    else:
        for finding in findings:
            _print(finding)
    if any(finding.verdict == "bad" for finding in findings):
        sys.exit(3)


def _print(finding: Finding) -> None:
    mark, colour = MARKS[finding.verdict]
    click.echo(f"{click.style(mark, colour)} {finding.topic:<12} {safe(finding.text)}")
    if finding.fix:
        click.echo(f"{'':15} fix it with:  {safe(finding.fix)}")


def checkup() -> list[Finding]:
    """Look at everything; nothing is changed and no connection is opened."""
    first = engines.first()
    others = [name for name in ENGINES if name != first]
    found = [*_versions(), *_library(first)]
    found += [finding for other in others for finding in _other_engine(other)]
    return [*found, *_machine(), *_files(), *_hybrids(), *_templates()]


def _versions() -> Iterator[Finding]:
    yield Finding("specchat", "ok", f"{version('specchat')} on Python {platform.python_version()}")
    yield Finding("system", "ok", f"{platform.system()} {platform.release()}, {platform.machine()}")
    if sys.platform == "darwin" and platform.machine() != "arm64" and "ARM" in platform.version():
        yield Finding(
            "system",
            "bad",
            "This Python is made for Intel and runs translated, ten times slower.",
            "install an arm64 Python and specchat again",
        )


def _library(name: EngineName) -> Iterator[Finding]:
    """Load the engine that is there, and say what it computes with."""
    title, package = ENGINES[name], PACKAGES[name]
    try:
        engine = loaded.use(name)
    except ModelError as error:
        build = f"{sys.executable} -m pip install --force-reinstall --no-cache-dir"
        fix = f"{build} {package.name}=={package.version}"
        here = name in engines.installed()
        yield Finding(title, "bad", str(error), fix if here else engines.how_to_install(name))
        return
    yield Finding(title, "ok", f"{engine.version}, {package.name} {_version(package.name)}")
    yield Finding(
        "processor", "ok", f"{', '.join(engine.devices())}: {_features(engine.features())}"
    )
    if not engine.can_repack:
        yield Finding(
            "processor",
            "note",
            "Built with AMX kernels, which crash with some compilers; repacked weights are off.",
            "CFLAGS=-mno-amx-int8 CXXFLAGS=-mno-amx-int8 "
            f"{sys.executable} -m pip install --force-reinstall --no-cache-dir "
            f"{package.name}=={package.version}",
        )
    gpu = "this build offloads to it" if engine.offloads_to_gpu else "none in this build"
    yield Finding("GPU", "ok" if engine.offloads_to_gpu else "note", gpu)


def _other_engine(name: EngineName) -> Iterator[Finding]:
    """Try another engine than the one that is loaded here, in a separate process."""
    title, package = ENGINES[name], PACKAGES[name]
    if name not in engines.installed():
        text = f"not installed; {WORTH[name]}"
        yield Finding(title, "note", text, engines.how_to_install(name))
    elif reason := load_error(name):
        yield Finding(title, "note", f"{reason} llama.cpp works without it.")
    else:
        yield Finding(title, "ok", f"{package.name} {_version(package.name)}")


def _choice(target: Path) -> Iterator[Finding]:
    """Say which engine runs the default target."""
    from assistant.engine.engine_choice import choose
    from assistant.request import Setup

    with suppress(ModelError):  # what is wrong with the file is said elsewhere
        choice = choose(Setup(target, cache=places.cache_dir()))
        yield Finding("engine", "ok", f"{ENGINES[choice.engine]}. {choice.reason}")


def _features(text: str) -> str:
    """Return the features that are on, out of llama.cpp's `NAME = 1 | ` list."""
    parts = text.replace("CPU :", "").split("|")
    return " ".join(part.split("=")[0].strip() for part in parts if part.strip().endswith("= 1"))


def _machine() -> Iterator[Finding]:
    cores, memory = physical_cores(), psutil.virtual_memory()
    yield Finding("cores", "ok", f"{cores} physical, one thread on each")
    need = sum(entry.size for entry in _default_pair()) + GIB
    text = f"{memory.available / GIB:.1f} of {memory.total / GIB:.1f} GiB free"
    if memory.available > need:
        yield Finding("memory", "ok", text)
    else:
        yield Finding("memory", "note", f"{text}; the default pair wants {need / GIB:.1f} GiB")
    free = shutil.disk_usage(_existing(places.hub_cache())).free
    yield Finding("disk", "ok", f"{free / GIB:.1f} GiB free where models go, {places.hub_cache()}")


def _files() -> Iterator[Finding]:
    for entry in _default_pair():
        path = find(entry)
        if path is None:
            fix = f"specchat models pull {entry.name}"
            yield Finding("model", "bad", f"{entry.name} is not on this machine.", fix)
        elif checksum.known_sha256(path) == entry.sha256:
            yield Finding("model", "ok", f"{entry.name}, verified: {path}")
        else:
            yield Finding("model", "ok", f"{entry.name}, verified when first used: {path}")
    target, draft = _default_pair()
    if (path := find(target)) and find(draft):
        yield _own_draft(target)
        yield from _choice(path)


def _own_draft(target: GGUF) -> Finding:
    """Say whether the default target has a draft that was made for it here."""
    if made := made_here(identify(target.name)):
        return Finding("model", "ok", f"made to draft for {target.name}: {made.path}")
    text = f"No faster draft was made for {target.name} yet; its draft is used as downloaded."
    return Finding("model", "note", text, f"specchat models pull {catalog.DEFAULT.name}")


def _hybrids() -> Iterator[Finding]:
    """Say what the models with a state can take back of wrong guesses, and what that costs."""
    for stored in installed():
        try:
            model = identify(stored.reference)
        except ModelError:
            continue  # it was removed since
        if model.header and model.header.is_recurrent and not model.refusal:
            back = taken_back(model.header, model.size)
            yield Finding("hybrid", "ok", f"{stored.name}: wrong guesses are taken back, {back}")


def _templates() -> Iterator[Finding]:
    """Look for chat templates that change what is said."""
    models, strange = installed(), 0
    for model in models:
        try:
            remarks = examine(gguf.read(model.path))
        except ModelError:
            continue  # `models list` says what is wrong with it
        if suspicions := [remark.text for remark in remarks if remark.suspicious]:
            strange += 1
            command = f"specchat models show {shlex.quote(model.reference)} --template"
            text = f"of {model.reference}: {' '.join(suspicions)} Read it with: {command}"
            yield Finding("template", "note", text)
    if models and not strange:
        yield Finding("template", "ok", f"{len(models)} checked, each writes the messages in full")


def _default_pair() -> tuple[GGUF, GGUF]:
    return catalog.DEFAULT.target, catalog.DEFAULT.draft


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


def _existing(path: Path) -> Path:
    return next(place for place in (path, *path.parents) if place.exists())
