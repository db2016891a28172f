"""Predicts a model's speed on this machine from earlier measurements of other models.

On a CPU, the time of a token is that of reading its weights, and a little more for each layer; so
models are compared by bytes. Prefill is bound by arithmetic, so it is compared by weights.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from assistant.decoding.lookahead import forecast
from assistant.engine.engine_choice import choose_engine, required_engine
from assistant.engine.model_profile import BY_KERNELS, ModelProfile
from assistant.engine.profile import DRAFT_PREFILL, profile_of
from assistant.request import EngineArgs
from models import catalog, machine, memory
from models.catalog import GGUF
from models.engines import ENGINES, EngineName
from models.errors import ModelError
from models.files.model_file import ModelFile
from models.files.stores import find_gguf

AnyModel = ModelFile | GGUF
# Measured on two cores with AVX-512, from 135M to 1.5B; ratios, so that speed cancels out.
LAYER_BYTES: dict[EngineName, float] = {"ik": 1.5e6, "llama": 2.5e6}
"""The overhead of a layer, as bytes that could be read meanwhile."""
LAYER_WEIGHTS = 6e6
"""The same for a token of a prompt, as weights that could be multiplied meanwhile."""
SLOW_FACTOR: dict[EngineName, float] = {"ik": 1.0, "llama": 1.9}
SLOW_TYPES = {"Q4_1": 3, "Q5_0": 6, "Q5_1": 7}
"""Relative time of a byte of slow quantisation types (by GGUF type id), by engine."""
PROMPT_FACTOR: dict[EngineName, float] = {"ik": 1.0, "llama": 1.25}
"""Relative time of a weight in a prefill."""
LAYERS, TABLES = 28, 0.3e9
"""Assumed layers, and weights that a prefill does not use, of a model without a header here."""
MEASURED_ERROR, SIZE_ERROR, HEADERLESS_ERROR = 0.08, 0.05, 0.05
"""Errors as logarithms: of a measured model; for each factor e in size between it and another; and
without a header."""
TOKEN_ERROR, PROMPT_ERROR = 0.12, 0.25
"""The same for tokens of other models, and for their prompts: at most 0.1 and 0.3 were observed."""
MIN_TOKENS_PER_S, MAX_PROMPT_S, MEMORY_SHARE = 10.0, 20.0, 0.5
"""Of a model that is suggested: the lowest tokens per second, the highest seconds of prefill for
1,000 tokens, and the share of free memory that it may take."""


class Span(NamedTuple):
    """The lowest and the highest expected value."""

    low: float
    high: float

    def __str__(self) -> str:
        """Return both ends in two digits, or one figure where they are the same."""
        return "–".join(dict.fromkeys(f"{float(f'{end:.2g}'):,g}" for end in self))

    @property
    def middle(self) -> float:
        """The most likely value."""
        return sqrt(self.low * self.high)


@dataclass(frozen=True, slots=True)
class Expectation:
    """The expected speed of a model on this machine."""

    tokens_per_s: Span
    drafted_tokens_per_s: Span | None  # with its draft: from no gain to a typical one
    prompt_s: Span | None  # to read 1,000 tokens

    def __str__(self) -> str:
        """Return it as a part of a sentence."""
        drafted = self.drafted_tokens_per_s
        with_draft = f", {drafted} with its draft" if drafted else ""
        wait = f"; 1,000 tokens are read in {self.prompt_s} s" if self.prompt_s else ""
        return f"about {self.tokens_per_s} tokens/s{with_draft}{wait}"


class Expectations:
    """Predicts the speed of models from measurements of some of them; nothing is loaded."""

    def __init__(self, models: Iterable[ModelFile], folder: Path) -> None:
        self._folder = folder
        self._verify: dict[str, ModelProfile] = {}
        self._tokens: dict[str, tuple[float, float]] = {}  # work, and the seconds it took
        self._prompts: dict[str, tuple[float, float]] = {}
        for model in models:
            if (work := self._work(model)) is None:
                continue
            name, verify = _key(model), profile_of(model.path, "verify", folder)
            draft, prompt_s = profile_of(model.path, "draft", folder), verify.prompt_token_s
            if verify.plain_s:
                self._verify[name] = verify
            profile = verify if verify.plain_s else draft
            if profile.plain_s:
                # An answer on an idle machine corrects what was measured on a busy one.
                self._tokens[name] = work[0], min(profile.seconds[1], profile.token_s or inf)
            if not prompt_s and DRAFT_PREFILL in draft.ratios:
                prompt_s = draft.seconds[DRAFT_PREFILL] / DRAFT_PREFILL
            if prompt_s:
                self._prompts[name] = work[1], prompt_s

    def of(self, model: AnyModel, draft: AnyModel | None) -> Expectation | None:
        """Return the expectation for a model; None if nothing was measured yet."""
        if (work := self._work(model)) is None:
            return None
        token_bytes, prompt_weights = work
        if (token := _seconds(model, token_bytes, self._tokens, TOKEN_ERROR)) is None:
            return None
        plain, drafted = Span(1 / token.high, 1 / token.low), None
        if draft:
            drafted = Span(plain.low, plain.high * self._gain(model, draft, token.middle))
        prompt = _seconds(model, prompt_weights, self._prompts, PROMPT_ERROR)
        prompt_s = Span(1000 * prompt.low, 1000 * prompt.high) if prompt else None
        return Expectation(plain, drafted, prompt_s)

    def larger(self, target: ModelFile) -> tuple[GGUF, Expectation] | None:
        """Return the largest model of the catalogue that is not here and would run well, if any."""
        budget, suitable = MEMORY_SHARE * machine.memory().free, list[tuple[GGUF, Expectation]]()
        for gguf in catalog.FILES.values():
            needed_bytes = memory.estimate_by_size(gguf.size, gguf.file).needed
            is_candidate = target.size < gguf.size and needed_bytes < budget
            speed = self.of(gguf, None) if is_candidate and find_gguf(gguf) is None else None
            if speed is None or speed.prompt_s is None:
                continue
            if speed.prompt_s.high < MAX_PROMPT_S and speed.tokens_per_s.low > MIN_TOKENS_PER_S:
                suitable.append((gguf, speed))
        return max(suitable, key=lambda pair: pair[0].size, default=None)

    def _gain(self, model: AnyModel, draft: AnyModel, token_s: float) -> float:
        """Return the speed-up of the best lookahead at a typical acceptance rate, at least 1."""
        work = self._work(draft)
        step = _seconds(draft, work[0], self._tokens, TOKEN_ERROR) if work else None
        if step is None:
            return 1.0
        kernels = ENGINES[self._engine(model)], model.weights.partition("_")[0]
        own, typical = self._verify.get(_key(model)), BY_KERNELS.get(kernels, {})
        seconds = {n: token_s * ratio for n, ratio in {1: 1.0, **typical}.items()}
        verify = own.seconds if own else seconds
        return forecast.best_lookahead(forecast.TYPICAL, verify, step.middle)[1]

    def _engine(self, model: AnyModel) -> EngineName:
        if isinstance(model, ModelFile):
            return choose_engine(EngineArgs(model.path, cache=self._folder)).engine
        if choice := required_engine(EngineArgs(Path(), cache=self._folder)):
            return choice.engine
        return "llama" if model.weights in ("Q4_1", "Q5_1") else "ik"

    def _work(self, model: AnyModel) -> tuple[float, float] | None:
        """Return the work of a token of an answer, in bytes, and of a prompt, in weights.

        None: its header says too little.
        """
        with suppress(ModelError, OSError):
            engine = self._engine(model)
            if isinstance(model, GGUF) and model.size:
                read, layers = model.active * model.size, LAYERS
                slow = read if model.weights in SLOW_TYPES else 0.0
                weights = read * 8 / (8.5 if model.weights == "Q8_0" else 4.8)
                multiplied = max(weights - TABLES, 0.4 * weights)
            elif isinstance(model, ModelFile) and (header := model.header) and header.tensors.read:
                part = model.size / header.size  # the header of a split file covers one part
                tensors, layers = header.tensors, header.layers or LAYERS
                read, multiplied = part * sum(tensors.read.values()), part * tensors.prompt
                slow = part * sum(tensors.read.get(kind, 0) for kind in SLOW_TYPES.values())
            else:
                return None
            slowness = 1 + (SLOW_FACTOR[engine] - 1) * slow / read
            prompt_weights = multiplied * slowness + layers * LAYER_WEIGHTS
            token_bytes = read * slowness + layers * LAYER_BYTES[engine]
            return token_bytes, PROMPT_FACTOR[engine] * prompt_weights
        return None


def _key(model: AnyModel) -> str:
    """Return the key of a model, which may be here or only listed."""
    return f"{model.name} {model.size}"


def _seconds(
    model: AnyModel, work: float, measured: dict[str, tuple[float, float]], error: float
) -> Span | None:
    """Return the time of some work, as measured of this model, or else of others with an error."""
    if _key(model) in measured:
        _, own_s = measured[_key(model)]
        return Span(own_s * exp(-MEASURED_ERROR), own_s * exp(MEASURED_ERROR))
    if not measured:
        return None
    rates = [log(seconds / other_work) for other_work, seconds in measured.values()]
    distance = min(abs(log(work / other_work)) for other_work, _ in measured.values())
    error += SIZE_ERROR * distance + (max(rates) - min(rates)) / 2
    error += HEADERLESS_ERROR if isinstance(model, GGUF) else 0.0
    usual_s = work * exp(fmean(rates))
    return Span(usual_s * exp(-error), usual_s * exp(error))
