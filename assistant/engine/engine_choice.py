"""Which engine runs a file on this machine, and why."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from assistant.decoding.lookahead.machine_cache import Records
from assistant.engine import engine_trial
from assistant.engine.engine_trial import EngineFigures
from assistant.request import Setup
from models import engines, rpc_servers
from models.cancel import CancelFlag
from models.engines import ENGINES, PACKAGES, EngineName
from models.errors import ModelError
from models.machine import processor


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """An engine, the sentence that says why, and what was measured of each."""

    engine: EngineName
    reason: str
    figures: Mapping[EngineName, EngineFigures] = field(default_factory=dict)


def choose(setup: Setup, cancel: CancelFlag, tell: Callable[[EngineName], None]) -> EngineChoice:
    """Return the engine for a setup; `tell` hears of each that is tried before.

    What the setup names is taken. Else it is the faster one of those that are installed, which is
    found out once for every file, if that can be remembered.

    Raises:
        Cancelled: `cancel` was raised.
    """
    if setup.engine != "auto":
        return EngineChoice(setup.engine, "You chose it.")
    if setup.heads:
        return EngineChoice("llama", "It alone runs prediction heads.")
    if setup.gpu_layers or rpc_servers.servers():
        return EngineChoice("llama", "Only it can use GPUs and other machines.")
    if len(engines.installed()) < 2:
        return EngineChoice(engines.first(), "No other engine is installed.")
    if setup.cache is None:
        return EngineChoice("llama", "The measurements are not saved.")
    return known(setup) or compare(setup, setup.cache, cancel, tell)


def known(setup: Setup) -> EngineChoice | None:
    """Return what was found out before for a setup's target and the engines that are installed."""
    return _records(setup.cache).get(_key(setup)) if setup.cache else None


def compare(
    setup: Setup, folder: Path, cancel: CancelFlag, tell: Callable[[EngineName], None]
) -> EngineChoice:
    """Try all engines with a setup's target, and keep which is the fastest.

    It is kept also when other programs were busy: they disturb all alike, and to compare before
    every answer would cost more than a wrong choice. `specchat tune` compares again.

    Raises:
        Cancelled: `cancel` was raised.
    """
    figures: dict[EngineName, EngineFigures] = {}
    refusals: list[str] = []
    for name in engines.installed():
        tell(name)
        try:
            figures[name] = engine_trial.run(
                name, setup.target, setup.gpu_layers, setup.threads, cancel
            )
        except ModelError as error:
            refusals.append(str(error))
    choice = fastest(figures, refusals)
    with suppress(OSError):
        _records(folder).put(_key(setup), choice)
    return choice


def fastest(figures: Mapping[EngineName, EngineFigures], refusals: list[str]) -> EngineChoice:
    """Return the engine with the fastest typical answer, and why none of the others."""
    if not figures:  # llama.cpp will say what is wrong with the file
        return EngineChoice("llama", " ".join(refusals))
    best, *others = sorted(figures, key=lambda name: figures[name].answer_s)
    if not others:
        return EngineChoice(best, " ".join(refusals) or "No other engine is installed.", figures)
    ratio = figures[others[0]].answer_s / figures[best].answer_s
    reason = f"A typical answer takes {ENGINES[others[0]]} {ratio:.2f} times as long."
    return EngineChoice(best, reason, figures)


def _records(folder: Path) -> Records[EngineChoice]:
    return Records(folder / "engines.json", EngineChoice)


def _key(setup: Setup) -> str:
    """Return as text what the choice depends on: the file, the engines, the machine."""
    status = setup.target.stat()
    packages = (PACKAGES[name].name for name in engines.installed())
    libraries = ", ".join(f"{package} {version(package)}" for package in packages)
    file = f"{status.st_size} {status.st_mtime_ns}"
    how = f"threads={setup.threads} | trial {engine_trial.VERSION}"
    return f"{file} | {libraries} | {processor()} | {how}"
