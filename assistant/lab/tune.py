"""Tune: compare engines, measure the pair with the faster one, and remember all of it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

from assistant.engine.engine_choice import EngineChoice, choose, needed
from assistant.engine.profile import Evaluation, Profile
from assistant.lab.engine_trial import compare
from assistant.lab.protocol import Measuring, Meter, Tune, Tuned
from assistant.request import EngineArgs
from models.engines import ENGINES, EngineName
from models.errors import StorageError
from models.native import loaded
from models.native.model import MAX_ROWS, NativeModel
from models.native.weights import shared
from models.progress import CancelFlag

N_CTX = 576
ROUNDS = 3
WIDTHS = {"target": (*range(1, 18), 20, 24, 28, 32), "draft": (1, 2, 3, 4, 8, 16, 64)}
"""Widths of the curves."""


class Tuner:
    """Do one tuning; `emit` gets the progress, many times a second."""

    def __init__(self, job: Tune, cancel: CancelFlag, emit: Callable[[Measuring], None]) -> None:
        self._cancel = cancel
        self._choice = _compared(job.setup, cancel, emit)
        self._setup = setup = replace(job.setup, engine=self._choice.engine)
        loaded.use(self._choice.engine)
        self._sides = {"target": setup.target} | ({"draft": setup.draft} if setup.draft else {})
        self._meter = Meter(ROUNDS * sum(len(WIDTHS[role]) for role in self._sides), emit)

    def run(self) -> Tuned:
        """Measure everything, and save the results.

        Raises:
            ModelError: one of the pair cannot be used.
            StorageError: what was found cannot be kept.
            Cancelled: it was stopped; nothing was kept.
        """
        with ExitStack() as opened:
            models = {role: opened.enter_context(self._open(role)) for role in self._sides}
            draft = models.get("draft")
            conditions = draft.conditions if draft else None
            profile = Profile(models["target"], conditions, self._setup.cache)
            profile.reset()
            profile.draft = draft
            profiles = {"target": profile.of_target, "draft": profile.of_draft}
            for turn in range(ROUNDS):
                self._meter.what = f"the cost curves, {turn + 1} of {ROUNDS}"
                for role in models:
                    for width in WIDTHS[role]:
                        profile.sample([Evaluation(profiles[role], width)])
                        self._meter.step()
            self._save(profile)
        paths = tuple(self._sides.values())
        return Tuned(paths, profile.is_clear, *profile.seconds, self._choice)

    @contextmanager
    def _open(self, role: str) -> Iterator[NativeModel]:
        with (
            shared(self._sides[role], self._setup.gpu_layers, self._cancel) as weights,
            closing(
                NativeModel(
                    weights,
                    n_ctx=N_CTX,
                    max_rows=MAX_ROWS if role == "target" else 1,
                    threads=self._setup.threads,
                    cancel=self._cancel,
                )
            ) as model,
        ):
            yield model

    def _save(self, profile: Profile) -> None:
        if not profile.is_clear:
            return
        try:
            profile.put()
        except OSError as error:
            raise StorageError(
                f"{self._setup.cache} cannot be written: {error.strerror}. Fix its permissions, "
                "or choose another place with SPECCHAT_HOME."
            ) from error


def _compared(
    setup: EngineArgs, cancel: CancelFlag, emit: Callable[[Measuring], None]
) -> EngineChoice:
    """Return the engine to tune for: the faster one, where nothing else decides."""

    def says(engine: EngineName) -> None:
        emit(Measuring(f"the target with {ENGINES[engine]}", 0.0, None))

    if setup.cache is None or needed(setup) or loaded.in_use():
        return choose(setup)
    return compare(setup, setup.cache, cancel, says)
