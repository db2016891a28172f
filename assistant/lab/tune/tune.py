"""Tune: compare engines and settings, measure the pair with the best, and remember all of it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import reduce
from time import perf_counter

from assistant.engine.engine_choice import EngineChoice, choose, needed
from assistant.engine.machine_cache import put_looks, remember_tuning
from assistant.engine.measurement import CostLooks, Look, varied
from assistant.engine.times import nothing_seen
from assistant.lab.protocol import Measuring, Meter, SettingTrial, Tune, Tuned
from assistant.lab.tune import contest
from assistant.lab.tune.contest import Candidate, Result
from assistant.lab.tune.engine_trial import compare
from assistant.request import Setup, Tuning
from models.engines import ENGINES, EngineName
from models.errors import ModelError, StorageError
from models.native import loaded
from models.native.engine import WeightSettings
from models.native.model import MAX_ROWS, NativeModel
from models.native.weights import shared
from models.progress import CancelFlag

DEPTH = 512
"""Tokens after which settings compete: enough for attention to count."""
N_CTX = DEPTH + 64
ROUNDS = 3
TRIED = {"target": (1, 2, 4, 8), "draft": (1, 2)}
"""Widths at which settings compete."""
WIDTHS = {"target": (*range(1, 18), 20, 24, 28, 32), "draft": (1, 2, 3, 4, 8, 16, 64)}
"""Widths of the curves."""


class Tuner:
    """Do one tuning; `tell` hears how far it is, many times a second."""

    def __init__(self, job: Tune, cancel: CancelFlag, tell: Callable[[Measuring], None]) -> None:
        self._cancel = cancel
        self._choice = _compared(job.setup, cancel, tell)
        self._setup = setup = replace(job.setup, engine=self._choice.engine)
        loaded.use(self._choice.engine)
        self._sides = {"target": setup.target} | ({"draft": setup.draft} if setup.draft else {})
        self._candidates = contest.candidates(setup.threads)
        tries = len(self._candidates) * 2 * contest.ROUNDS
        planned = sum(tries * len(TRIED[role]) + ROUNDS * len(WIDTHS[role]) for role in self._sides)
        self._meter = Meter(planned, tell)
        self._trials: list[SettingTrial] = []

    def run(self) -> Tuned:
        """Measure everything, and keep what was found.

        Raises:
            ModelError: one of the pair cannot be used.
            StorageError: what was found cannot be kept.
            Cancelled: it was stopped; nothing was kept.
        """
        tunings = {role: self._best(role) for role in self._sides}
        with ExitStack() as opened:
            models = {
                role: opened.enter_context(self._open(role, tuning))
                for role, tuning in tunings.items()
            }
            looks = CostLooks(
                models["target"], models.get("draft"), nothing_seen({}, 1), nothing_seen({})
            )
            times = {"target": looks.verify, "draft": looks.reading}
            for turn in range(ROUNDS):
                self._meter.what = f"the cost curves, {turn + 1} of {ROUNDS}"
                for role, model in models.items():
                    for width in WIDTHS[role]:
                        looks.take([Look(model, times[role], width)])
                        self._meter.step()
            self._keep(looks, tunings)
            curves = {role: times[role].seconds for role in models}
        paths, trials = tuple(self._sides.values()), tuple(self._trials)
        draft = curves.get("draft", {})
        return Tuned(paths, trials, looks.is_clear, curves["target"], draft, self._choice)

    def _best(self, role: str) -> Tuning:
        """Have the other settings compete with the usual ones; return what to use."""
        results: dict[Candidate, Result] = {}
        with self._open(role, Tuning()) as usual:
            for candidate in self._candidates:
                self._meter.what = f"the {role}, {candidate.what}"
                try:
                    with self._open(role, candidate.on(Tuning())) as other:
                        results[candidate] = contest.contest(usual, other, TRIED[role], self._time)
                except ModelError as error:
                    self._trials.append(SettingTrial(candidate.what, role, note=str(error)))
        winners = contest.winners(results)
        self._trials += [
            SettingTrial(each.what, role, result.ratios, result.ratio, each in winners)
            for each, result in results.items()
        ]
        return reduce(lambda tuning, winner: winner.on(tuning), winners, Tuning())

    @contextmanager
    def _open(self, role: str, tuning: Tuning) -> Iterator[NativeModel]:
        """Open a model; one that is open around it shares its weights."""
        settings = WeightSettings(self._setup.gpu_layers, tuning.repack)
        with (
            shared(self._sides[role], settings, self._cancel) as weights,
            closing(
                NativeModel(
                    weights,
                    n_ctx=N_CTX,
                    max_rows=MAX_ROWS if role == "target" else 1,
                    threads=self._setup.threads or tuning.threads,
                    flash_attention=tuning.flash_attention,
                    cancel=self._cancel,
                )
            ) as model,
        ):
            yield model

    def _time(self, model: NativeModel, width: int) -> float:
        """Time an evaluation of `width` tokens after `DEPTH` others, if there is room for those."""
        depth = min(DEPTH, model.n_ctx - width)
        tokens = varied(depth + width, model.n_vocab)
        model.logits(tokens[:depth], rows=0)
        started = perf_counter()
        model.logits(tokens, rows=min(width, model.max_rows))
        self._meter.step()
        return perf_counter() - started

    def _keep(self, looks: CostLooks, tunings: dict[str, Tuning]) -> None:
        folder = self._setup.cache
        if folder is None or not looks.is_clear:
            return
        try:
            put_looks(looks, folder)
            for role, path in self._sides.items():
                remember_tuning(path, self._setup.gpu_layers, folder, tunings[role])
        except OSError as error:
            raise StorageError(
                f"{folder} cannot be written: {error.strerror}. Fix its permissions, or choose "
                "another place with SPECCHAT_HOME."
            ) from error


def _compared(setup: Setup, cancel: CancelFlag, tell: Callable[[Measuring], None]) -> EngineChoice:
    """Return the engine to tune for: the faster one, where nothing else decides."""

    def says(engine: EngineName) -> None:
        tell(Measuring(f"the target with {ENGINES[engine]}", 0.0, None))

    if setup.cache is None or needed(setup) or loaded.in_use():
        return choose(setup)
    return compare(setup, setup.cache, cancel, says)
