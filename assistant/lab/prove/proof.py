"""One proof: the shipped rules by a small enumeration, then the user's pair by its answers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from assistant.decoding.lookahead.policy import Control
from assistant.decoding.rules.token import TokenRule
from assistant.engine.load import Loader
from assistant.engine.weights_pool import Pool
from assistant.lab.progress_meter import Meter
from assistant.lab.protocol import Check, LabEvent, Prove, Proved
from assistant.lab.prove import batch_noise, enumeration
from assistant.lab.prove.batch_noise import measured
from assistant.lab.prove.pair import TASKS, TURNS, DecodedText, ProvedPair, ars, paired
from assistant.lab.prove.samples import Sampler
from assistant.lab.prove.side_by_side import by_ars, compare
from assistant.lab.prove.significance import Comparison
from assistant.lab.prove.turns import restored, several, turns
from assistant.request import Sampling
from models.base import most_proposals
from models.errors import Cancelled

N_CTX = 1024
"""Tokens of room: for a task and its answer."""
USUAL_LOOKAHEAD = 3
USUAL_SIZE = 1.6e9
"""Bytes of the usual pair, with which the efforts below are about seconds."""
A_TURN, A_TEXT, NOISE, TRACES = 9.0, 6.0, 6.0, 5.0
TURN, SEVERAL, RESTORED = 10.0, 5.0, 4.0
A_LAW, A_THOUSAND = 0.2, 3.0
"""Those that no model takes part in: of a law that is enumerated, and of samples."""


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much is compared."""

    size: int  # of a sample
    length: int  # of a text
    turns: int
    tasks: int


QUICK, THOROUGH = Amounts(800, 32, 3, 1), Amounts(4000, 128, len(TURNS), len(TASKS))


class Proof:
    """Go through everything; `emit` hears of each comparison when it is made, and how far it is."""

    def __init__(
        self, job: Prove, control: Control, emit: Callable[[LabEvent], None], pool: Pool
    ) -> None:
        self._job, self._cancel, self._emit = job, control.cancel, emit
        n_ctx = min(N_CTX, job.setup.n_ctx)
        setup = replace(job.setup, n_ctx=n_ctx, snapshots=0, measure=False)
        self._loader = Loader(setup, control, emit, pool)
        self._amounts = amounts = THOROUGH if job.thorough else QUICK
        self._turns, self._tasks = TURNS[: amounts.turns], TASKS[: amounts.tasks]
        size = sum(path.stat().st_size for path in (setup.target, setup.draft) if path)
        self._weight = size / USUAL_SIZE * amounts.length / QUICK.length
        self._first: DecodedText | None = None  # by seed, which all that is shipped is to say
        self._times: dict[str, float] = {}
        self._meter = Meter(self._planned(), emit)

    def run(self) -> Proved:
        """Compare everything.

        Raises:
            ModelError: the target cannot be used.
            Cancelled: it was stopped; what was found so far has been told.
        """
        started = perf_counter()
        self._go("the rules on a small example", enumeration.checks(), A_LAW)
        try:
            assistant, ready = self._loader.load()
            if assistant.target.can_roll_back:
                lookahead = self._job.lookahead or USUAL_LOOKAHEAD
                lookahead = min(lookahead, most_proposals(assistant.target))
                self._prove(paired(assistant, self._job.sampling, lookahead, self._job.seed))
            speculates = assistant.target.can_roll_back
        finally:
            self._loader.close()
        models = tuple(model.path for model in (ready.target, ready.draft) if model)
        seconds = perf_counter() - started
        return Proved(
            models, ready.no_draft, speculates, self._job.seed, seconds, dict(self._times)
        )

    def _planned(self) -> float:
        texts = 2 * len(self._tasks) * A_TEXT * self._weight
        noise = (NOISE + TRACES) * self._weight
        shipped = (TURN + SEVERAL + RESTORED) * self._weight
        samples = len(self._turns) * self._a_turn
        return A_LAW * enumeration.count() + texts + noise + shipped + samples

    @property
    def _a_turn(self) -> float:
        return A_TURN * self._weight + A_THOUSAND * self._amounts.size / 1000

    def _go(self, what: str, checks: Iterator[Check | None], effort: float) -> None:
        """Tell what is compared, step by step; each takes some effort."""
        self._meter.what, started = what, perf_counter()
        self._meter.tell()
        for check in checks:
            if check is not None:
                self._emit(check)
            self._meter.skip(effort)
            if self._cancel.raised:
                raise Cancelled
        self._times[what] = perf_counter() - started

    def _prove(self, pair: ProvedPair) -> None:
        prompt = pair.prompt(TASKS[0])
        rule = TokenRule(np.random.default_rng(0))
        text = ars(pair, prompt, self._amounts.length, Sampling(0), rule)
        noises = list[Check]()
        widths = sorted({2, pair.lookahead + 1, 8})

        def noise() -> Iterator[Check]:
            for measure in measured(pair, text, widths):
                noises.append(measure.check)
                yield noises[-1]

        each = self._weight / len(widths)
        self._go("the noise of batches", noise(), NOISE * each)
        largest = max(check.figures["largest"] for check in noises)
        self._go("the cache", batch_noise.traces(pair, text, widths, largest), TRACES * each)
        self._go("texts", self._texts(pair, largest), self._weight * A_TEXT / 2)
        alone, half = self._first, self._amounts.length // 2
        assert alone is not None
        for what, checks, effort in (
            ("the shipped turn", turns(pair, alone, half, largest), TURN / 4),
            ("several answers at once", several(pair, alone, half, largest), SEVERAL / 2),
            ("an answer after a restore", restored(pair, half, largest), RESTORED),
        ):
            self._go(what, checks, self._weight * effort)
        self._go("samples", self._sampled(pair), self._a_turn)

    def _texts(self, pair: ProvedPair, noise: float) -> Iterator[Check]:
        for seed in (None, pair.seed):
            for task in self._tasks:
                self._meter.what = "texts at temperature 0" if seed is None else "texts by seed"
                name = f"“{task[:50]}…”" if len(task) > 50 else f"“{task}”"
                alone = by_ars(pair, pair.prompt(task), self._amounts.length, seed)
                yield from compare(pair, name, alone, noise, seed)
                if self._first is None and seed is not None:
                    self._first = alone

    def _sampled(self, pair: ProvedPair) -> Iterator[Check | None]:
        comparison = Comparison()
        for number, (question, begun) in enumerate(self._turns):
            self._meter.what = f"samples, {number + 1} of {len(self._turns)}"
            sampler = Sampler(pair, number, pair.prompt(question, begun), self._amounts.size)
            comparison.add(f"“{question}”", sampler)
            yield None
        for check in comparison.results():
            self._emit(check)
