"""Measurements and what was learnt on this machine, kept for the next load."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Literal

from assistant.decoding.lookahead.acceptance import Acceptance
from assistant.engine.measurement import (
    CLEAR,
    ERROR,
    NARROW,
    READINGS,
    CostLooks,
    TimedModel,
    error_of_wide_batches,
    uncertainty,
)
from assistant.engine.times import Ratios, Times, nothing_seen
from models.files.disk import Records
from models.native.model import NativeModel

COSTS, ACCEPTANCE = "costs.json", "acceptance.json"
"""The files: what evaluations took, and how good sources were."""
FURTHEST = 8.0  # log odds of acceptance; a file that says more than that is damaged


def limit_batch(model: NativeModel, folder: Path | None) -> bool:
    """Have a model evaluate `NARROW` tokens at once if wide batches have other logits.

    Say whether that was so. What was found for a file and an engine is kept in `folder`, if any.

    Raises:
        Cancelled: it was stopped.
        ModelError: it cannot evaluate.
    """
    records, key = Records(folder, "batches.json", bool), model.weights.conditions
    is_sound = records.get(key)
    if is_sound is None:
        is_sound = error_of_wide_batches(model) < ERROR
        records.save(key, is_sound)
    if not is_sound:
        model.limit_batch(NARROW)
    return not is_sound


def kept_looks(
    target: TimedModel,
    draft: TimedModel | None,
    folder: Path | None,
    typical: tuple[Ratios, Ratios] = ({}, {}),
    clock: Callable[[], float] = perf_counter,
) -> CostLooks:
    """Return what is known of the costs of a pair, or of a target alone.

    What was never measured, or only on a busy machine, is looked at, and kept in `folder` if there
    is one.

    Raises:
        Cancelled: it was stopped; nothing was kept of what was being measured.
        ModelError: a model cannot evaluate.
    """
    times = Records(folder, COSTS, Times)
    known = [_sound_times(times.get(key)) for key in _times_keys(target, draft)]
    verify = known[0] or nothing_seen(typical[0], 1)
    reading = known[-1] if draft and known[-1] else nothing_seen(typical[1])
    looks = CostLooks(target, draft, verify, reading, clock)
    if None in known or not looks.is_clear:
        looks.first()
        keep_looks(looks, folder)
    return looks


def is_measured(target: TimedModel, draft: str, folder: Path | None) -> bool:
    """Return whether `kept_looks` has nothing to look at; `draft` are a draft's conditions."""
    verify_key = f"verify | {target.conditions}"
    times = Records(folder, COSTS, Times)
    keys = verify_key, f"draft | {draft} | {verify_key}"
    verify, reading = (_sound_times(times.get(key)) for key in keys)
    if verify is None or reading is None:
        return False
    is_clear = CostLooks(target, None, verify, reading).is_clear
    return is_clear and all(uncertainty(reading, tokens) < CLEAR for tokens in READINGS)


def keep_looks(looks: CostLooks, folder: Path | None) -> None:
    """Keep what was measured if that can be done: otherwise it is measured again."""
    with suppress(OSError):
        put_looks(looks, folder)


def put_looks(looks: CostLooks, folder: Path | None) -> None:
    """Keep what was measured.

    Raises:
        OSError: the folder cannot be written.
    """
    keys = _times_keys(looks.target, looks.draft)
    for key, times in zip(keys, (looks.verify, looks.reading), strict=False):
        Records(folder, COSTS, Times).put(key, times)


def _sound_times(known: Times | None) -> Times | None:
    return known if known and known.is_sound else None


def _times_keys(target: TimedModel, draft: TimedModel | None) -> list[str]:
    """Return under which keys the times of both are kept; a draft's are those beside a target."""
    verify = f"verify | {target.conditions}"
    return [verify, f"draft | {draft.conditions} | {verify}"] if draft else [verify]


def known_reading(path: Path, folder: Path) -> float:
    """Return the seconds a token that prompts of a target took last; 0 if none was read yet."""
    seconds = Records(folder, COSTS, float).newest(f"reading | {_file(path)} | ")
    return seconds if seconds and 0 < seconds < 1 else 0.0


def recorded(path: Path, what: Literal["verify", "draft"], folder: Path) -> Times | None:
    """Return what was measured last with a file here, however it was run; None: nothing."""
    return _sound_times(Records(folder, COSTS, Times).newest(f"{what} | {_file(path)} | "))


def _file(path: Path) -> str:
    """Return what tells a file from its other versions; empty if it is gone."""
    with suppress(OSError):
        status = path.stat()
        return f"{status.st_size} {status.st_mtime_ns}"
    return ""


def known_acceptance(target: Path, draft: Path | None, folder: Path | None) -> dict[str, float]:
    """Return how much better or worse than usual sources did, in log odds, by name.

    A draft that is bad would otherwise be tried in every answer, and again after every start.
    """
    known = Records(folder, ACCEPTANCE, dict[str, float]).get(_pair_key(target, draft)) or {}
    return {name: value for name, value in known.items() if abs(value) < FURTHEST}


def remember_acceptance(
    lasting: Mapping[str, float], target: Path, draft: Path | None, folder: Path | None
) -> None:
    """Keep what answers have shown."""
    Records(folder, ACCEPTANCE, dict[str, float]).save(_pair_key(target, draft), dict(lasting))


def _pair_key(target: Path, draft: Path | None) -> str:
    """Return both files by name and size; `ascii`, as a name need not be UTF-8."""
    files = [path for path in (target, draft) if path]
    return " | ".join(f"{path.name!a} {path.stat().st_size}" for path in files)


class Learnt:
    """What is known of a pair's costs and acceptance, and what answers and looks show of them.

    Args:
        files: of the target, and of the draft if there is one.
        folder: keeps it for the next load; None keeps nothing.
    """

    def __init__(
        self, looks: CostLooks, files: tuple[Path, Path | None], folder: Path | None
    ) -> None:
        self._looks, self._files, self._folder = looks, files, folder
        self._doubted_s = looks.doubted_s
        self.costs = looks.costs
        self.acceptance = Acceptance(known_acceptance(*files, folder))

    def replace_looks(self, looks: CostLooks) -> None:
        """Take looks at a target and its draft instead of those at the target alone."""
        self._looks, self._doubted_s = looks, looks.doubted_s
        self.costs.measure(*looks.seconds)

    def keep(self) -> None:
        """Keep what answers have shown."""
        remember_acceptance(self.acceptance.lasting, *self._files, self._folder)
        target = self._looks.target
        if self._looks.verify.calm_s:
            keep_looks(self._looks, self._folder)
        figures, key = Records(self._folder, COSTS, float), f"reading | {target.conditions}"
        seconds = target.seconds_per_token
        if seconds and seconds != figures.get(key):
            figures.save(key, seconds)

    def take_pace(self, plain_s: float) -> None:
        """Take what one token takes in an answer; believe little of looks that took far longer."""
        if plain_s < self._doubted_s:
            self._looks.doubt(plain_s)
            self._doubted_s = self._looks.doubted_s
            self.costs.measure(*self._looks.seconds)

    def look_again(self) -> bool:
        """Look at what is least certain of the costs; say whether all of them are certain.

        Raises:
            Cancelled: it was stopped.
            ModelError: a model cannot evaluate.
        """
        is_certain = self._looks.again()
        self._doubted_s = self._looks.doubted_s
        self.costs.measure(*self._looks.seconds)
        if is_certain:
            keep_looks(self._looks, self._folder)
        return is_certain
