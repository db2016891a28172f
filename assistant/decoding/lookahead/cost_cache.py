"""The costs of a loaded pair: as they were measured before on this machine, or measured now."""

from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Protocol

from assistant.decoding.lookahead.cost_measurement import time_draft, time_target
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.measured_times import ENOUGH, Times
from assistant.decoding.lookahead.records import Records
from models.base import Model
from models.machine import OtherLoad


class TimedModel(Model, Protocol):
    """A model that knows what its speed depends on."""

    conditions: str
    """The file, the library, the machine and the settings, as text."""


def cached_or_measured(target: TimedModel, draft: TimedModel | None, folder: Path | None) -> Costs:
    """Return what evaluations of a pair cost, or of a target alone.

    What has to be measured is kept in `folder`, if there is one, and looked at again in the next
    loads until looks agree; not what was measured while other programs were busy.

    Raises:
        Cancelled: somebody stopped it; nothing was kept of what was being measured.
        ModelError: a model cannot evaluate.
    """
    verify = _times(target, "verify", time_target, folder)
    reading = _times(draft, "draft", time_draft, folder) if draft else Times({})
    return Costs(verify.seconds, reading.seconds)


def recorded(path: Path, what: str, folder: Path) -> Times | None:
    """Return what was measured last with a file here, whatever the settings; nothing is loaded.

    `what` is "verify" of a target, or "draft" of a draft.
    """
    try:
        status = path.stat()
        file = f"{status.st_size} {status.st_mtime_ns}"
        library = version("llama-cpp-python")
    except (OSError, PackageNotFoundError):
        return None
    known = _records(folder).newest(f"{what} | {file} | {library} ")
    return known if known and known.is_sound else None


def remember(model: TimedModel, what: str, times: Times, folder: Path) -> None:
    """Keep what was measured: "verify" of a target, or "draft" of a draft.

    Raises:
        OSError: the folder cannot be written.
    """
    _records(folder).put(_key(model, what), times)


def _times(
    model: TimedModel, what: str, measure: Callable[[Model], Times], folder: Path | None
) -> Times:
    known = _known(model, what, folder) if folder else None
    if known and known.looks >= ENOUGH:
        return known
    load = OtherLoad()
    times = known.confirmed(measure(model)) if known else measure(model)
    if folder and not load.is_heavy:  # else measure again next time, perhaps in peace
        with suppress(OSError):  # a cache that cannot be written costs a second measurement
            remember(model, what, times, folder)
    return times


def _known(model: TimedModel, what: str, folder: Path) -> Times | None:
    known = _records(folder).get(_key(model, what))
    return known if known and known.is_sound else None


def _records(folder: Path) -> Records[Times]:
    return Records(folder / "costs.json", Times)


def _key(model: TimedModel, what: str) -> str:
    return f"{what} | {model.conditions}"
