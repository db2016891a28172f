"""Try what may make a draft faster, step by step, as long as it promises more."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assistant.lab.opening import Opener
from assistant.lab.slim.draft_bench import DraftBench, DraftFigures
from assistant.lab.slim.sample_text import QUESTIONS
from assistant.request import Sampling
from models.errors import ModelError
from models.gguf import ModelSummary
from models.slim.workshop import Recipe, Workshop, spaced

GAIN = 1.02
"""How much faster than the best so far a draft must promise to be: less is noise."""
ANSWER_TOKENS = 48
"""Tokens of each answer that drafts are measured on."""
SIZES = (64_000, 32_000, 16_000)
_LARGE = ("F32", "F16", "BF16")


@dataclass(frozen=True, slots=True)
class RecipeTrial:
    """A recipe and its result: figures, or the reason why there are none."""

    recipe: Recipe
    figures: DraftFigures | None
    problem: str = ""

    @property
    def speedup(self) -> float:
        """What it promises, as a multiple of ArS."""
        return self.figures.forecast.speedup if self.figures else 0.0


def steps(summary: ModelSummary) -> tuple[Sequence[Recipe], ...]:
    """Return the alternatives of each step of the search for a file: of each the best goes on."""
    kinds = ("Q8_0", "Q4_0") if summary.quantisation in _LARGE else ("Q4_0",)
    layers = summary.layers or 0
    return (
        [Recipe(kind) for kind in kinds if kind != summary.quantisation],
        [Recipe(tokens=size) for size in SIZES if 4 * size < 3 * summary.n_vocab],
        [Recipe(dropped=spaced(layers, n)) for n in (layers // 24, layers // 8) if n],
    )


def search(
    target: Path,
    workshop: Workshop,
    summary: ModelSummary,
    sampling: Sampling,
    opener: Opener,
    say: Callable[[str], object],
) -> Iterator[RecipeTrial]:
    """Yield a trial of the source as it is, then one of each draft that is made of it.

    `say` is told what begins.

    Raises:
        ModelError: the target or the source cannot be run.
        StorageError: there is no room for what is made.
    """
    say("reading what the target answers")
    with opener.open(workshop.source) as reference:
        bench = DraftBench(target, reference, sampling, opener, QUESTIONS, ANSWER_TOKENS)
        say(str(Recipe()))
        best = RecipeTrial(Recipe(), bench.measure(reference))
        yield best
        for alternatives in steps(summary):
            trials: list[RecipeTrial] = []
            for step in alternatives:
                recipe = _added(best.recipe, step)
                say(str(recipe))
                trials.append(_try(recipe, workshop, bench, opener))
                yield trials[-1]
            best = better(best, trials)


def better(best: RecipeTrial, trials: Sequence[RecipeTrial]) -> RecipeTrial:
    """Return the trial that promises most, if it is clearly more than `best` does."""
    challenger = max(trials, key=lambda trial: trial.speedup, default=best)
    return challenger if challenger.speedup >= GAIN * best.speedup else best


def winner(trials: Sequence[RecipeTrial]) -> RecipeTrial | None:
    """Return the draft to keep of those made; None when none is clearly better than the source.

    The first trial is the source as it is, which is never slower than ArS: it need not be used.
    """
    best = better(trials[0], trials[1:])
    return None if best is trials[0] else best


def _added(recipe: Recipe, step: Recipe) -> Recipe:
    return replace(
        recipe,
        kind=step.kind or recipe.kind,
        tokens=step.tokens or recipe.tokens,
        dropped=step.dropped or recipe.dropped,
    )


def _try(recipe: Recipe, workshop: Workshop, bench: DraftBench, opener: Opener) -> RecipeTrial:
    try:
        with opener.open(workshop.make(recipe)) as draft:
            return RecipeTrial(recipe, bench.measure(draft))
    except ModelError as error:
        return RecipeTrial(recipe, None, str(error))
