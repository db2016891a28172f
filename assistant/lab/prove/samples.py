"""Samples of how answers begin, drawn as in a chat and held against the target's own law.

Nothing is seeded, as in most answers: they come from the rounds of mode auto, with its controller
and all sources. The target's rows are computed token by token, once, and kept: so answers take no
time, their law is known exactly, and no noise of batches is in it. By the promise they are
independent, whatever the controller and the sources learn from one to the next.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache
from math import exp, log
from typing import Any

from assistant.decoding.loops import Rejected, Sampled
from assistant.decoding.model import Logits, Model
from assistant.decoding.row import Row
from assistant.decoding.rules.rule import Rule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Source
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.warp import Warp, warp, warped
from assistant.lab.protocol import FALSE_ALARM, Check, Layer
from assistant.lab.prove.pair import RecordingModel, auto_policy, decoded
from assistant.request import Sampling

TOKENS = 3  # tokens of a sample: two may be proposed, and one follows
NARROW = 4  # tokens that a row keeps, so that answers begin alike
LIKELIEST, HOTTEST = 0.5, 60.0
"""What the first row's best token may have, so that much is left to chance, and the temperature
that may take."""
Text = tuple[int, ...]


def narrowed(logits: Logits, sampling: Sampling) -> Warp:
    """Return a warp that keeps few tokens, and leaves much to chance after these logits."""
    warm = replace(sampling, temperature=max(sampling.temperature, 1.0), top_k=NARROW, top_p=1.0)
    while warp(logits, warm, ()).probs.max() > LIKELIEST and warm.temperature < HOTTEST:
        warm = replace(warm, temperature=1.5 * warm.temperature, min_p=0.0)
    return warped(warm)


class RecallingTarget(RecordingModel):
    """A target whose rows are computed one token at a time, warped, and cached."""

    def __init__(self, model: Model, warp: Warp) -> None:
        super().__init__(model)
        self.row = cache(lambda text: warp(model.logits(text)[0], text))
        """Returns the row that follows a text."""

    def _evaluated(self, tokens: Sequence[int], rows: int) -> list[Row]:
        ends = range(len(tokens) - rows + 1, len(tokens) + 1)
        return [self.row(tuple(tokens[:end])) for end in ends]


def as_it_is(row: Any, _history: Sequence[int]) -> Row:
    """Return a row that is warped already."""
    warped_row: Row = row
    return warped_row


def recalling(source: Source, prompt: Sequence[int], warp: Warp) -> Source:
    """Return a source that knows a prompt and keeps each row that it computes; or one that copies.

    It reads the prompt now: the policy would not wait for a draft model's prefill.
    """
    if not isinstance(source, ModelSource):
        return source
    source.read(prompt)
    source.row(prompt, warp)
    known, recalling_source = cache(lambda text: source.row(text, warp)), copy(source)
    vars(recalling_source)["row"] = lambda tokens, _warp: known(tuple(tokens))
    return recalling_source


class Sampler:
    """Answer one prompt again and again, with the sources of one chat."""

    def __init__(
        self, target: Model, sources: Sequence[Source], prompt: Sequence[int], warp: Warp
    ) -> None:
        self._target, self._prompt = RecallingTarget(target, warp), tuple(prompt)
        self._drafter = Cascade(*(recalling(source, prompt, warp) for source in sources))
        self.law: Mapping[Text, float] = dict(self._texts((), 1.0))
        """The probability of each text by the target's rows."""

    def _texts(self, text: Text, probability: float) -> Iterator[tuple[Text, float]]:
        if len(text) == TOKENS:
            yield text, probability
            return
        row = self._target.row((*self._prompt, *text))
        for token, share in zip(row.ids.tolist(), row.probs.tolist(), strict=True):
            yield from self._texts((*text, token), probability * share)

    def draw(self, rule: Rule, size: int) -> tuple[Counter[Text], Counter[str]]:
        """Answer so often; return how answers began, and how often each source proposed.

        `rule` is the randomness of all answers.
        """
        texts, proposed, policy = Counter[Text](), Counter[str](), auto_policy()
        for _ in range(size):
            tokens = list(self._prompt)
            for round_ in decoded(
                self._target, self._drafter, tokens, TOKENS, rule, policy, as_it_is, has_begun=True
            ):
                judged: list[Sampled | Rejected] = [*round_.tokens, *round_.rejected]
                proposed.update(drawn.proposal.source for drawn in judged if drawn.proposal)
            texts[tuple(tokens[len(self._prompt) :][:TOKENS])] += 1
        return texts, proposed


def sampled(layer: Layer, what: str, sampler: Sampler, rule: Rule, size: int, tests: int) -> Check:
    """Say whether samples are of the law: by their first token, by two, and by all.

    `tests` is how many are tested so in all. The p-value is corrected for them: all together give a
    false alarm with a probability of `FALSE_ALARM` at most.
    """
    texts, proposed = sampler.draw(rule, size)
    p_value = 1.0
    for length in range(1, TOKENS + 1):
        law, counts = dict[Text, float](), Counter[Text]()
        for text, probability in sampler.law.items():
            law[text[:length]] = law.get(text[:length], 0.0) + probability
        for text, times in texts.items():
            counts[text[:length]] += times
        p_value = min(p_value, p_bound(counts, law) * TOKENS * tests)
    figures = {"answers": size, **{f"proposed by {name}": n for name, n in proposed.items()}}
    if not proposed:
        return Check(layer, what, None, figures, note="nothing was proposed")
    return Check(layer, what, p_value > FALSE_ALARM, figures, p_value)


def p_bound(counts: Mapping[Text, int], law: Mapping[Text, float]) -> float:
    """Return the most that the probability of such counts, or worse ones, can be under a law.

    Worse are those with a larger Kullback-Leibler divergence D from the law. Of n independent
    samples of k outcomes, D exceeds d > (k - 1) / n with a probability of at most
    exp(-n d) (e n d / (k - 1))^(k - 1): Agrawal 2020, "Finite-Sample Concentration of the
    Multinomial in Relative Entropy", theorem 1.2. That holds for every n, however small.
    """
    total, freedom = sum(counts.values()), len(law) - 1
    if any(text not in law for text in counts):
        return 0.0  # an outcome of probability 0 was observed
    scaled = sum(times * log(times / total / law[text]) for text, times in counts.items())
    if scaled <= freedom or not freedom:
        return 1.0
    return exp(-scaled + freedom * (1 + log(scaled / freedom)))
