"""How likely proposals are to be accepted, learnt for each source."""

from collections.abc import Iterator, Mapping, Sequence
from math import exp, log, sqrt

from assistant.decoding.loops import Round
from assistant.decoding.sources.draft import Run
from assistant.decoding.sources.model import MODEL

NEAREST = 0.005  # to 0 and 1: nothing is certain
FADE = 0.97  # of the weight of earlier observations, with each new one
UNKNOWN = (0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99)
KNOWN = {  # acceptance by bucket, measured on answers of the default pair
    "form": (0.85, 0.99),
    "edit": (0.2, 0.6, 0.88, 0.95, 0.96, 0.98, 0.99, 0.995),  # of simulated edits
    "suffix": (0.5, 0.55, 0.75, 0.7, 0.85, 0.88, 0.92, 0.95),
    "tail": (0.15, 0.25, 0.5, 0.75, 0.7, 0.9),
    "ngram": (0.4, 0.6, 0.65, 0.9, 0.55, 0.8, 0.9, 0.7),
    MODEL: (0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.88, 0.94, 0.97, 0.99),
}
BY_CONFIDENCE = (0.48, 0.48, 0.53, 0.6, 0.68, 0.72, 0.85, 0.93, 0.98, 0.99)
"""Acceptance of a draft model by the bucket of the target's margin, in the same answers."""
TYPICAL_CONFIDENCE, PRIOR = 0.7, 3.0  # its mean in a new text, and how many tokens that counts for
# Precisions are one over the variance, of log odds, before anything is observed.
TEXT_PRECISION = 2.8  # of a draft model, between texts: measured
COPIES_TEXT_PRECISION = 1.0  # of other sources
SOURCE_PRECISION = 2.0  # between models
DECAY = 0.98  # of a source's lasting correction, with each text: a bad source is tried again


class LogOdds:
    """The logarithm of odds, or a part of it, learnt from probabilities that are observed.

    Logistic regression with one step of Newton's method for each observation: the value moves by
    how unexpected that was, and the less the more is known. The information is one over the
    variance.
    """

    def __init__(self, value: float, information: float) -> None:
        self.value = value
        self._information = information

    @property
    def deviation(self) -> float:
        """The standard deviation of the value."""
        return 1 / sqrt(self._information)

    def observe(self, observed: float, expected: float) -> None:
        """Update the value by an observed probability, and the one that was expected."""
        self._information += expected * (1 - expected)
        self.value += (observed - expected) / self._information


class RecentMean:
    """A mean in which earlier observations count for less.

    The initial `value` counts as `weight` observations.
    """

    def __init__(self, value: float = 0.0, weight: float = 0.0) -> None:
        self._sum, self._weight = weight * value, weight

    @property
    def value(self) -> float:
        """The mean; 0 if nothing was added and there was no initial value."""
        return self._sum / self._weight if self._weight else 0.0

    def add(self, total: float, weight: float = 1.0) -> None:
        """Add `weight` observations, whose sum is `total`."""
        self._sum = FADE * self._sum + total
        self._weight = FADE * self._weight + weight


class Acceptance:
    """Estimates the probability that the target accepts a proposal, given that it tests it.

    The estimate is the usual acceptance of a source's bucket with two corrections in log odds: one
    for the source with these models, which lasts, and one for the source in this text, which is
    learnt quickly. What is observed is not whether a proposal was accepted, but the probability of
    that: the overlap of the two rows.
    """

    def __init__(self, lasting: Mapping[str, float] | None = None) -> None:
        self._texts: dict[str, LogOdds] = {}
        self._sources = {
            name: LogOdds(value, SOURCE_PRECISION) for name, value in (lasting or {}).items()
        }
        self._confidence = RecentMean(TYPICAL_CONFIDENCE, PRIOR)

    def begin(self) -> None:
        """Begin another text, in which much may be different."""
        self._texts.clear()
        self._confidence = RecentMean(TYPICAL_CONFIDENCE, PRIOR)
        for source in self._sources.values():
            source.value *= DECAY

    @property
    def lasting(self) -> dict[str, float]:
        """How much better or worse sources do than usual, in log odds, by name."""
        return {name: float(odds.value) for name, odds in self._sources.items()}

    @property
    def confidence(self) -> float:
        """The acceptance of a draft model's proposals here, by the target's margins alone."""
        return self._confidence.value

    def estimate(self, source: str, bucket: int) -> float:
        """Return the estimate for a proposal whose bucket is known."""
        known = KNOWN.get(source, UNKNOWN)
        return self._correct(known[min(bucket, len(known) - 1)], source)

    def estimates(self, run: Run) -> list[float]:
        """Return the estimates for the tokens of a run, each given those before it."""
        uncertain = run.buckets[run.certain :]
        return [1.0] * run.certain + [self.estimate(run.source, bucket) for bucket in uncertain]

    def expected(self, source: str, improvement: float = 0.0) -> float:
        """Return the estimate for a proposal whose bucket is not known yet.

        The source will do better than it did by the `improvement`, in log odds. For a draft model
        the target's own confidence counts, which is known before the draft is evaluated: where the
        target is sure, most proposals are right.
        """
        known = KNOWN.get(source, UNKNOWN)
        usual = self.confidence if source == MODEL else known[len(known) // 2]
        return self._correct(usual, source, improvement)

    def optimistic(self, source: str) -> float:
        """Return the expected acceptance of a source, plus one standard deviation.

        So a source that may be good in this text is tried; once it proves bad, it is tried no more.
        """
        return self.expected(source, self._text(source).deviation)

    def observe(self, round_: Round, runs: Sequence[Run]) -> None:
        """Learn from a round, and from all `runs` that were on offer when it began.

        Judging a run costs nothing, whether it was proposed or not. So a source that is not used
        now is noticed as soon as it becomes good.
        """
        for source, bucket, overlap in _overlaps(round_, runs):
            expected = self.estimate(source, bucket)
            self._text(source).observe(overlap, expected)
            self._source(source).observe(overlap, expected)
        for token in round_.tokens:
            if (margin := token.target_row.margin) is not None:
                self._confidence.add(BY_CONFIDENCE[margin])

    def _correct(self, usual: float, source: str, improvement: float = 0.0) -> float:
        usual = min(max(usual, NEAREST), 1 - NEAREST)
        correction = self._source(source).value + self._text(source).value + improvement
        return 1 / (1 + exp(-log(usual / (1 - usual)) - correction))

    def _source(self, source: str) -> LogOdds:
        return self._sources.setdefault(source, LogOdds(0.0, SOURCE_PRECISION))

    def _text(self, source: str) -> LogOdds:
        precision = TEXT_PRECISION if source == MODEL else COPIES_TEXT_PRECISION
        return self._texts.setdefault(source, LogOdds(0.0, precision))


def _overlaps(round_: Round, runs: Sequence[Run]) -> Iterator[tuple[str, int, float]]:
    """Yield the source and the bucket of proposals, and how likely each was to be accepted."""
    for run in runs:
        yield run.source, run.buckets[0], round_.tokens[0].target_row.prob(run.tokens[0])
    judged = {run.source for run in runs}  # by their first tokens, above
    for index, token in enumerate(round_.tokens[: round_.tested]):
        proposal = token.proposal
        if proposal and (index > 0 or proposal.source not in judged):
            yield proposal.source, proposal.bucket, token.target_row.overlap(proposal.row)
