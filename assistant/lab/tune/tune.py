"""Tune: try settings against each other, measure the pair with the best, and remember both."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import reduce
from pathlib import Path

from assistant.decoding.lookahead.cost_measurement import SHALLOW, varied
from assistant.decoding.lookahead.machine_cache import remember_times
from assistant.engine.engine_choice import EngineChoice, choose, compare
from assistant.engine.tuned_settings import keep
from assistant.lab.opening import Opener
from assistant.lab.progress_meter import Meter, effort
from assistant.lab.protocol import Measuring, SettingTrial, Tune, Tuned
from assistant.lab.tune import cost_curves, settings_trial
from assistant.lab.tune.cost_curves import MeasuredCurve, Side, at_depth, sides, speedup
from assistant.lab.tune.settings_trial import Candidate, Result
from assistant.request import Setup, Tuning
from models import memory
from models.cancel import CancelFlag
from models.engines import ENGINES, EngineName
from models.errors import ModelError, StorageError
from models.machine import OtherLoad
from models.native import loaded
from models.native.model import NativeModel

DEPTH = 512
"""Tokens after which settings compete: enough for attention to count."""


class Tuner:
    """Do one tuning; `tell` hears how far it is, many times a second."""

    def __init__(self, job: Tune, cancel: CancelFlag, tell: Callable[[Measuring], None]) -> None:
        self._variants = job.variants
        self._choice = _compared(job.setup, cancel, tell)
        self._setup = replace(job.setup, engine=self._choice.engine)
        self._opener = Opener(self._setup, cancel)
        self._sides = sides(job.setup)
        self._candidates = settings_trial.candidates(job.setup.threads)
        self._meter = Meter(self._planned(), tell)
        self._trials: list[SettingTrial] = []
        self._load = OtherLoad()

    def run(self) -> Tuned:
        """Measure everything, and keep what was found.

        Raises:
            ModelError: one of the pair cannot be used.
            StorageError: what was found cannot be kept.
            Cancelled: it was stopped; nothing was kept.
        """
        tunings = [self._best(side) for side in self._sides]
        with ExitStack() as opened:
            measured = [
                cost_curves.open_curve(side, tuning, self._opener, self._meter, opened)
                for side, tuning in zip(self._sides, tunings, strict=True)
            ]
            for turn in range(cost_curves.ROUNDS):
                self._meter.what = f"the cost curves, {turn + 1} of {cost_curves.ROUNDS}"
                for curve in measured:
                    curve.measure(self._meter)
            self._compare_files(measured)
            self._keep(measured, tunings)
        return self._tuned(measured, tunings)

    def _planned(self) -> float:
        """Return the effort of everything."""

        def trials(side: Side, count: int) -> float:
            return count * 2 * settings_trial.ROUNDS * sum(map(effort, side.tried)) * side.weight

        tries = len(self._candidates)
        reading = (tries + 1) * DEPTH
        return trials(self._sides[0], len(self._variants)) + sum(
            trials(side, tries) + reading * side.weight + cost_curves.planned(side)
            for side in self._sides
        )

    def _best(self, side: Side) -> Tuning:
        """Have the other settings compete with the usual ones; return what to use."""
        results: dict[Candidate, Result] = {}
        with self._opener.open(side.path, Tuning(), side.max_rows) as usual:
            depth = min(DEPTH, usual.n_ctx - max(side.tried))
            self._meter.what = f"the {side.role}"
            self._read(usual, side, depth)
            for candidate in self._candidates:
                self._meter.what = f"the {side.role}, {candidate.what}"
                try:
                    results[candidate] = self._contest(side, usual, candidate.on(Tuning()), depth)
                except ModelError as error:
                    self._trials.append(SettingTrial(candidate.what, side.role, note=str(error)))
        winners = settings_trial.winners(results)
        self._trials += [
            SettingTrial(each.what, side.role, result.ratios, result.ratio, each in winners)
            for each, result in results.items()
        ]
        return reduce(lambda tuning, winner: winner.on(tuning), winners, Tuning())

    def _contest(self, side: Side, usual: NativeModel, settings: Tuning, depth: int) -> Result:
        with self._opener.open(side.path, settings, side.max_rows) as other:
            self._read(other, side, depth)
            return settings_trial.contest(usual, other, side.tried, depth, self._meter.time)

    def _read(self, model: NativeModel, side: Side, depth: int) -> None:
        """Have a model read its context."""
        self._meter.weight = side.weight
        model.logits(varied(depth, model.n_vocab), rows=0)
        self._meter.skip(depth)

    def _compare_files(self, measured: Sequence[MeasuredCurve]) -> None:
        """Have the other files of the model compete with the target, near the beginning."""
        target = measured[0]
        near = [curve.seconds[SHALLOW] for curve in measured]
        for path in self._variants:
            side = replace(target.side, path=path)
            self._meter.what = path.name
            try:
                _check_fits(path)
                result = self._contest(side, target.models[SHALLOW], Tuning(), SHALLOW)
            except ModelError as error:
                self._trials.append(SettingTrial(str(path), "file", note=str(error)))
                continue
            gain = speedup(result.ratios, *near)
            self._trials.append(
                SettingTrial(str(path), "file", result.ratios, result.ratio, speedup=gain)
            )

    def _keep(self, measured: Sequence[MeasuredCurve], tunings: Sequence[Tuning]) -> None:
        folder = self._setup.cache
        if folder is None or self._load.is_heavy:
            return
        try:
            for curve, tuning in zip(measured, tunings, strict=True):
                purpose = "verify" if curve.side.role == "target" else "draft"
                remember_times(curve.models[SHALLOW], purpose, curve.times, folder)
                keep(curve.side.path, self._setup.gpu_layers, folder, tuning)
        except OSError as error:
            raise StorageError(
                f"{folder} cannot be written: {error.strerror}. Fix its permissions, or choose "
                "another place with SPECCHAT_HOME."
            ) from error

    def _tuned(self, measured: Sequence[MeasuredCurve], tunings: Sequence[Tuning]) -> Tuned:
        depths = sorted(set.intersection(*(set(curve.seconds) for curve in measured)))
        return Tuned(
            tuple(side.path for side in self._sides),
            tuple(tunings),
            tuple(self._trials),
            not self._load.is_heavy,
            tuple(
                at_depth(depth, *(curve.seconds[depth] for curve in measured)) for depth in depths
            ),
            self._choice,
        )


def _compared(setup: Setup, cancel: CancelFlag, tell: Callable[[Measuring], None]) -> EngineChoice:
    """Return the engine to tune for; where it is not given, all are tried again."""

    def says(engine: EngineName) -> None:
        tell(Measuring(f"the target with {ENGINES[engine]}", 0.0, None))

    choice = choose(setup, cancel, says)
    if choice.figures and setup.cache and not loaded.in_use():
        return compare(setup, setup.cache, cancel, says)
    return choice


def _check_fits(path: Path) -> None:
    needed = memory.estimate_by_size(path.stat().st_size, path.name)
    fit = memory.fit(needed)
    if fit.verdict != "fits":
        free = f"{fit.available / 1e9:.1f} GB of memory are free"
        raise ModelError(f"It takes {needed / 1e9:.1f} GB, but {free}.")
