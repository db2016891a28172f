"""Which engine runs a file on this machine, and why."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

from assistant.decoding.lookahead import forecast
from assistant.request import EngineArgs
from models import engines, ik
from models.engines import ENGINES, PACKAGES, EngineName
from models.errors import ModelError, OtherEngine
from models.files.disk import Records
from models.files.model_file import read_header
from models.machine import processor

ANSWER = 128  # tokens of a typical answer, and of its prompt
TRIAL = 3  # the version of trials; choices by other versions are not used


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """Measured times of an engine with a file."""

    reading_s: float  # seconds to read a token of a prompt
    seconds: Mapping[int, float]  # seconds of an evaluation, by width

    @property
    def answer_s(self) -> float:
        """The seconds of a typical answer: of its prefill, and of decoding it, half of it by SpS.

        SpS is at the best lookahead, with proposals of a typical acceptance rate that cost no time.
        """
        _, speedup = forecast.best_lookahead(forecast.TYPICAL, self.seconds, 0.0)
        return ANSWER * (self.reading_s + self.seconds[1] * (1 + 1 / speedup) / 2)


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """An engine, the reason as a sentence, and the measured times of each."""

    engine: EngineName
    reason: str
    figures: Mapping[EngineName, EngineFigures] = field(default_factory=dict)


def choose_engine(setup: EngineArgs) -> EngineChoice:
    """Return the engine for a setup's target.

    It is the one that the setup names or needs, else the one that `tune` found faster for this
    file, else ik_llama.cpp where it can run the file well, and llama.cpp where it cannot. A
    `ModelError` says that there is no such file, or that it is damaged.
    """
    return required_engine(setup) or _remembered_choice(setup) or _by_header(setup.target)


def with_engines(setups: Sequence[EngineArgs]) -> list[EngineArgs]:
    """Return setups that name their engines if these differ: each engine needs a process."""
    with suppress(ModelError):  # loading says which file is damaged
        named = [replace(setup, engine=choose_engine(setup).engine) for setup in setups]
        if len({setup.engine for setup in named}) > 1:
            return named
    return [*setups]


def required_engine(setup: EngineArgs) -> EngineChoice | None:
    """Return the engine if a setup or the installation leaves no choice, else None."""
    if setup.engine != "auto":
        return EngineChoice(setup.engine, "You chose it.")
    if setup.gpu_layers:
        return EngineChoice("llama", "Only it can use GPUs.")
    if len(engines.installed()) < 2:
        return EngineChoice(engines.default_engine(), "No other engine is installed.")
    if setup.gpu_layers is None and engines.llama_uses_gpu():
        return EngineChoice("llama", "It was built for a GPU.")
    if setup.cache is None:  # it could not be remembered that the other one refused a file
        return EngineChoice("llama", "It runs the most files.")
    return None


def _by_header(target: Path) -> EngineChoice:
    """Return ik_llama.cpp, unless it cannot run a file, or reads it in small batches only."""
    header, title = read_header(target), ENGINES["ik"]
    if reason := ik.unsupported_reason(header):
        return EngineChoice("llama", f"{title} cannot run {target.name}: {reason}.")
    if tokens := ik.widest_batch(header):
        return EngineChoice("llama", f"{title} reads at most {tokens} tokens of it at once.")
    return EngineChoice("ik", "It is faster on CPUs.")


def fall_back_to_llama(setup: EngineArgs, choice: EngineChoice, reason: str) -> None:
    """Choose llama.cpp for a setup's target from now on, unless there is no choice.

    An `OtherEngine` says that it can be tried at once, in another process.
    """
    if choice.engine != "ik" or required_engine(setup) or setup.cache is None:
        return
    with suppress(OSError):
        remember_engine(setup, setup.cache, EngineChoice("llama", reason))
        raise OtherEngine(reason)


def remember_engine(setup: EngineArgs, folder: Path, choice: EngineChoice) -> None:
    """Remember the engine for a setup's target; OSError if it cannot be saved."""
    _records(folder).put(_key(setup), choice)


def _remembered_choice(setup: EngineArgs) -> EngineChoice | None:
    """Return the remembered choice for a setup's target and the installed engines."""
    with suppress(OSError):  # there is no such file: reading its header says so
        return _records(setup.cache).get(_key(setup))
    return None


def _records(folder: Path | None) -> Records[EngineChoice]:
    return Records(folder, "engines.json", EngineChoice)


def _key(setup: EngineArgs) -> str:
    """Return everything that the choice depends on as text: file, engines, machine."""
    status = setup.target.stat()
    packages = (PACKAGES[name].name for name in engines.installed())
    libraries = ", ".join(f"{package} {version(package)}" for package in packages)
    file = f"{status.st_size} {status.st_mtime_ns}"
    native = " | native" if ik.compiled_library() else ""
    how = f"threads={setup.threads} | trial {TRIAL}{native}"
    return f"{file} | {libraries} | {processor()} | {how}"
