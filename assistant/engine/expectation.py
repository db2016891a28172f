"""What a model would do on this machine, by what others were seen to do here.

On a CPU a token takes as long as its weights take to be read, and a little more for each layer; so
models are compared by bytes. A prompt is bound by arithmetic, so there the weights are counted.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from assistant.decoding.lookahead import theory
from assistant.engine.engine_choice import choose, needed
from assistant.engine.machine_cache import known_reading, recorded
from assistant.engine.times import BY_KERNELS, Times
from assistant.request import EngineArgs
from models import catalog, memory
from models.catalog import GGUF
from models.engines import ENGINES, EngineName
from models.errors import ModelError
from models.files.model_file import ModelFile
from models.files.stores import find

AnyModel = ModelFile | GGUF
# Measured on two cores with AVX-512, from 135M to 1.5B; ratios, so that speed cancels out.
LAYER: dict[EngineName, float] = {"ik": 1.5e6, "llama": 2.5e6}
"""What a layer takes beside its weights, as bytes that are read meanwhile."""
PROMPT_LAYER = 6e6
"""The same of a token of a prompt, as weights that are multiplied meanwhile."""
SLOW: dict[EngineName, float] = {"ik": 1.0, "llama": 1.9}
SLOW_TYPES = {"Q4_1": 3, "Q5_0": 6, "Q5_1": 7}
"""What a byte of these types takes, by their numbers in a header."""
PROMPT: dict[EngineName, float] = {"ik": 1.0, "llama": 1.25}
"""What a weight takes while a prompt is read."""
LAYERS, TABLES = 28, 0.3e9
"""Layers of a usual model, and weights that a prompt does not need, where no header is here."""
OWN, FURTHER, UNREAD = 0.08, 0.05, 0.05
"""How wrong a figure may be, as a logarithm: of what was measured itself; for each e-fold of size
between that and another model; more without a header."""
OTHERS, PROMPTS = 0.12, 0.25
"""The same of tokens of other models, and of their prompts: 0.1 and 0.3 at most were seen."""
READ = 64  # tokens of a draft's evaluation that tell how fast it reads
RUNS_WELL, SOON_S, SPARE = 10.0, 20.0, 0.5
"""Tokens per second, seconds to the first one after 1,000 of a prompt, and the part of the free
memory that is taken: of a model that is worth suggesting."""


class Span(NamedTuple):
    """The least and the most to expect."""

    low: float
    high: float

    def __str__(self) -> str:
        """Return both ends in two digits, or one figure where they are the same."""
        return "–".join(dict.fromkeys(f"{float(f'{end:.2g}'):,g}" for end in self))

    @property
    def middle(self) -> float:
        """The likeliest."""
        return sqrt(self.low * self.high)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a model is expected to do on this machine."""

    tokens_per_s: Span
    drafted_tokens_per_s: Span | None  # with its draft: from no gain to a typical one
    prompt_s: Span | None  # to read 1,000 tokens

    def __str__(self) -> str:
        """Return it as a part of a sentence."""
        drafted = f", {self.drafted_tokens_per_s} with its draft" * bool(self.drafted_tokens_per_s)
        wait = f"; 1,000 tokens are read in {self.prompt_s} s" * bool(self.prompt_s)
        return f"about {self.tokens_per_s} tokens/s{drafted}{wait}"


class Expectations:
    """Tell what models would do, by what was measured of some of them; nothing is loaded."""

    def __init__(self, models: Iterable[ModelFile], folder: Path) -> None:
        self._folder = folder
        self._verify: dict[str, Times] = {}
        self._tokens: dict[str, tuple[float, float]] = {}  # work, and the seconds it took
        self._prompts: dict[str, tuple[float, float]] = {}
        for model in models:
            if (work := self._work(model)) is None:
                continue
            name, drafts = _name(model), recorded(model.path, "draft", folder)
            if verify := recorded(model.path, "verify", folder):
                self._verify[name] = verify
            if times := verify or drafts:
                self._tokens[name] = work[0], times.seconds[1]
            read_s = drafts.seconds[READ] / READ if drafts and READ in drafts.ratios else 0.0
            if seconds := known_reading(model.path, folder) or read_s:
                self._prompts[name] = work[1], seconds

    def of(self, model: AnyModel, draft: AnyModel | None) -> Expectation | None:
        """Return what to expect of a model; None where nothing was measured yet."""
        work = self._work(model)
        token = work and _seconds(model, work[0], self._tokens, OTHERS)
        if work is None or token is None:
            return None
        plain, drafted = Span(1 / token.high, 1 / token.low), None
        if draft:
            drafted = Span(plain.low, plain.high * self._gain(model, draft, token.middle))
        prompt = _seconds(model, work[1], self._prompts, PROMPTS)
        return Expectation(plain, drafted, prompt and Span(*(1000 * each for each in prompt)))

    def larger(self, target: ModelFile) -> tuple[GGUF, Expectation] | None:
        """Return the largest model of the catalogue that is not here and would run well, if any."""
        room, found = SPARE * memory.fit(0).available, []
        for gguf in catalog.FILES.values():
            fits = target.size < gguf.size and memory.estimate_by_size(gguf.size, gguf.file) < room
            told = self.of(gguf, None) if fits and find(gguf) is None else None
            if told and told.prompt_s and told.prompt_s.high < SOON_S:
                found += [(gguf, told)] if told.tokens_per_s.low > RUNS_WELL else []
        return max(found, key=lambda each: each[0].size, default=None)

    def _gain(self, model: AnyModel, draft: AnyModel, token_s: float) -> float:
        """Return the speed-up of the best lookahead at a typical acceptance rate, at least 1."""
        work = self._work(draft)
        step = work and _seconds(draft, work[0], self._tokens, OTHERS)
        if step is None:
            return 1.0
        kernels = ENGINES[self._engine(model)], model.weights.partition("_")[0]
        own, typical = self._verify.get(_name(model)), BY_KERNELS.get(kernels, {})
        seconds = {n: token_s * ratio for n, ratio in {1: 1.0, **typical}.items()}
        verify = own.seconds if own else seconds
        return theory.best_lookahead(theory.TYPICAL, verify, step.middle)[1]

    def _engine(self, model: AnyModel) -> EngineName:
        """Return the engine that would run a model."""
        if isinstance(model, ModelFile):
            return choose(EngineArgs(model.path, cache=self._folder)).engine
        if choice := needed(EngineArgs(Path(), cache=self._folder)):
            return choice.engine
        return "llama" if model.weights in ("Q4_1", "Q5_1") else "ik"

    def _work(self, model: AnyModel) -> tuple[float, float] | None:
        """Return what a token of an answer takes, in bytes, and one of a prompt, in weights.

        None: its header says too little.
        """
        with suppress(ModelError, OSError):
            engine = self._engine(model)
            if isinstance(model, GGUF) and model.size:
                read, layers = model.active * model.size, LAYERS
                slow = read * (model.weights in SLOW_TYPES)
                weights = read * 8 / (8.5 if model.weights == "Q8_0" else 4.8)
                prompt = max(weights - TABLES, 0.4 * weights)
            elif isinstance(model, ModelFile) and (header := model.header) and header.tensors.read:
                part = model.size / header.size  # a split file's first tells of its own weights
                tensors, layers = header.tensors, header.layers or LAYERS
                read, prompt = part * sum(tensors.read.values()), part * tensors.prompt
                slow = part * sum(tensors.read.get(kind, 0) for kind in SLOW_TYPES.values())
            else:
                return None
            slowness = 1 + (SLOW[engine] - 1) * slow / read
            in_prompt = PROMPT[engine] * (prompt * slowness + layers * PROMPT_LAYER)
            return read * slowness + layers * LAYER[engine], in_prompt
        return None


def _name(model: AnyModel) -> str:
    """Return what tells a model from others, whether it is here or only listed."""
    return f"{model.name} {model.size}"


def _seconds(
    model: AnyModel, work: float, seen: dict[str, tuple[float, float]], doubt: float
) -> Span | None:
    """Return what work takes: as it was seen of this model, or of all others."""
    if own := seen.get(_name(model)):
        return Span(own[1] * exp(-OWN), own[1] * exp(OWN))
    if not seen:
        return None
    rates = [log(seconds / done) for done, seconds in seen.values()]
    distance = min(abs(log(work / done)) for done, _ in seen.values())
    error = doubt + FURTHER * distance + (max(rates) - min(rates)) / 2
    error += UNREAD * isinstance(model, GGUF)
    return Span(*(work * exp(fmean(rates) + each) for each in (-error, error)))
