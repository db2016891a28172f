"""Tune: compare engines, measure the pair with the faster one, and remember all of it."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from assistant.engine.batch_check import limit_batch
from assistant.engine.control import Control
from assistant.engine.engine_choice import EngineChoice, choose_engine, required_engine
from assistant.engine.loader import Loader
from assistant.engine.profile import Evaluation, Profile
from assistant.lab.engine_trial import compare
from assistant.lab.protocol import Measuring, Meter, Tune, Tuned
from assistant.request import EngineArgs
from models.errors import StorageError, raising
from models.native import loaded
from models.native.model import MAX_ROWS
from models.progress import CancelFlag

N_CTX = 576
ROUNDS = 3
WIDTHS = {"target": (*range(1, 18), 20, 24, 28, 32), "draft": (1, 2, 3, 4, 8, 16, 64)}
"""Widths of the curves."""


def tune(job: Tune, cancel: CancelFlag, emit: Callable[[Measuring], None]) -> Tuned:
    """Measure everything, and save the results; `emit` gets the progress, many times a second.

    A `ModelError` says that one of the pair cannot be used, a `StorageError` that the results
    cannot be saved. When it is cancelled nothing is saved.
    """
    choice = _choose_engine(job.setup, cancel, emit)
    setup = replace(job.setup, engine=choice.engine, n_ctx=N_CTX, copies=False)
    loaded.use(choice.engine)
    loader = Loader(setup, choice, Control(cancel=cancel), lambda event: None)
    paths = {"target": setup.target} | ({"draft": setup.draft} if setup.draft else {})
    meter = Meter(ROUNDS * sum(len(WIDTHS[role]) for role in paths), emit)
    with ExitStack() as opened:
        target = loader.open("target", setup.target, MAX_ROWS, opened)
        draft = loader.open("draft", setup.draft, 1, opened) if setup.draft else None
        for model in filter(None, (target, draft)):
            limit_batch(model, None)  # as when it is loaded for answers
        profile = Profile(target, draft.conditions if draft else None, setup.cache)
        profile.reset()
        profile.draft = draft
        profiles = {"target": profile.of_target, "draft": profile.of_draft}
        for turn in range(ROUNDS):
            meter.what = f"the cost curves, {turn + 1} of {ROUNDS}"
            for role in paths:
                for width in WIDTHS[role]:
                    profile.sample([Evaluation(profiles[role], width)])
                    meter.step()
        if profile.is_clear:
            advice = " Fix its permissions, or choose another place with SPECCHAT_HOME."
            with raising(StorageError, f"{setup.cache} cannot be written", advice):
                profile.put()
    return Tuned(tuple(paths.values()), profile.is_clear, *profile.seconds, choice)


def _choose_engine(
    setup: EngineArgs, cancel: CancelFlag, emit: Callable[[Measuring], None]
) -> EngineChoice:
    """Return the engine to tune for: the faster one, where nothing else decides."""
    if setup.cache is None or required_engine(setup) or loaded.in_use():
        return choose_engine(setup)
    return compare(setup, setup.cache, cancel, emit)
