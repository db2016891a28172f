"""How likely proposals are to be accepted, learnt for each source and kind of evidence."""

from collections.abc import Iterator, Mapping, Sequence
from math import exp, log, sqrt

from assistant.decoding.loops import Round
from assistant.decoding.sources.draft import Run
from assistant.decoding.sources.model import MODEL

NEAREST = 0.005  # to 0 and 1: nothing is certain
FADE = 0.97  # of what was learnt, or of a recent mean, each time
RETURN = 0.99  # of how far it is from where it began, each round that shows nothing of it
SPREAD = ((1 / 6, -sqrt(3)), (2 / 3, 0.0), (1 / 6, sqrt(3)))
"""A normal distribution as three values, by weight (Gauss and Hermite)."""
SURE = "sure"
"""Not a source: the worth of the model's proposals, by how sure the target is of its own token."""
UNKNOWN = (0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99)  # by evidence
KNOWN = {  # measured on answers of the default pair
    "form": (0.85, 0.99),
    "edit": (0.2, 0.6, 0.88, 0.95, 0.96, 0.98, 0.99, 0.995),  # of edits that were played
    "suffix": (0.5, 0.55, 0.75, 0.7, 0.85, 0.88, 0.92, 0.95),
    "tail": (0.15, 0.25, 0.5, 0.75, 0.7, 0.9),
    "ngram": (0.4, 0.6, 0.65, 0.9, 0.55, 0.8, 0.9, 0.7),
    MODEL: (0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.88, 0.94, 0.97, 0.99),
    "bigram": (0.5, 0.6, 0.5, 0.4, 0.35, 0.25),
    "unigram": (0.05,),
    "random": (0.0,),
    SURE: (0.48, 0.48, 0.53, 0.6, 0.68, 0.72, 0.85, 0.93, 0.98, 0.99),
}
USUAL = 0.7  # the mean of that in a text of which nothing is known yet
FORGIVEN = 0.98  # of what a source has shown in a text is left in the next: it is tried again
PRIOR = 3.0  # tokens, for as many of which it counts
# Precisions are one over the variance, of log odds, before anything is seen.
KIND_PRECISION = 30.0  # of a kind of evidence: what is known of it lasts
TEXT_PRECISION = {MODEL: 2.8, SURE: 2.8}  # between texts, measured
COPIES_TEXT_PRECISION = 1.0  # the same of sources that copy
SOURCE_PRECISION = 2.0  # between models


class Odds:
    """The logarithm of odds, or a part of it, learnt from probabilities that are seen.

    Logistic regression, one step of Newton's for each observation: it moves by how unexpected that
    was, and the less the more is known already. The information is one over the variance.
    """

    def __init__(self, value: float, information: float) -> None:
        self.value = self._first = value
        self._least = self._information = information

    @property
    def deviation(self) -> float:
        """How far off the value may well be: a standard deviation."""
        return 1 / sqrt(self._information)

    def learn(self, seen: float, expected: float) -> None:
        """Take an observation of a probability that this is a part of."""
        self._information += expected * (1 - expected)
        self.value += (seen - expected) / self._information

    def fade(self, shown: bool) -> None:
        """Let a round pass: be less sure, and believe less of what it has not shown again."""
        self._information = self._least + FADE * (self._information - self._least)
        if not shown:
            self.value = self._first + RETURN * (self.value - self._first)


def log_odds(chance: float) -> float:
    """Return the logarithm of a probability's odds."""
    chance = min(max(chance, NEAREST), 1 - NEAREST)
    return log(chance / (1 - chance))


def probability(value: float) -> float:
    """Return the probability whose odds have this logarithm."""
    return 1 / (1 + exp(-value))


class RecentMean:
    """A mean that forgets: what was added before counts for less each time.

    The `value` at first counts as so many observations as its `weight`.
    """

    def __init__(self, value: float = 0.0, weight: float = 0.0) -> None:
        self._sum, self._weight = weight * value, weight

    @property
    def value(self) -> float:
        """The mean; 0 where nothing was added yet, and nothing was known at first."""
        return self._sum / self._weight if self._weight else 0.0

    def add(self, total: float, weight: float = 1.0) -> None:
        """Take `weight` observations into account, and their sum."""
        self._sum = FADE * self._sum + total
        self._weight = FADE * self._weight + weight


class Acceptance:
    """Estimate the probability that the target accepts a proposal, given that it tests it.

    What a kind of evidence is worth is learnt slowly, for good; how much better or worse a source
    does in this text, quickly, and for all its kinds at once; and how it does on the whole, with
    these models, over all texts. What is learnt from are not the coins that fell but their odds:
    the overlap of the two rows.
    """

    def __init__(self, lasting: Mapping[str, float] | None = None) -> None:
        self._kinds: dict[tuple[str, int], Odds] = {}
        self._text_effects: dict[str, Odds] = {}
        self._sources = {
            name: Odds(value, SOURCE_PRECISION) for name, value in (lasting or {}).items()
        }
        self._sure = RecentMean(USUAL, PRIOR)

    def begin(self) -> None:
        """Begin another text, in which much may be different."""
        self._text_effects.clear()
        self._sure = RecentMean(USUAL, PRIOR)
        for source in self._sources.values():
            source.value *= FORGIVEN

    @property
    def lasting(self) -> dict[str, float]:
        """How much better or worse sources do than usual, in log odds, by name."""
        return {name: float(odds.value) for name, odds in self._sources.items()}

    @property
    def sureness(self) -> float:
        """The chance of a draft model's proposals here, by the target's rows alone."""
        return self._sure.value

    def estimate(self, source: str, bucket: int) -> float:
        """Return the estimate for a proposal of which the evidence is known."""
        return probability(self._kind(source, bucket).value + self._tendency(source))

    def along(self, run: Run) -> list[float]:
        """Return the estimates for the tokens of a run, each given those before it."""
        uncertain = run.buckets[run.certain :]
        return [1.0] * run.certain + [self.estimate(run.source, bucket) for bucket in uncertain]

    def optimistic(self, source: str) -> float:
        """Return what a proposal of which nothing is known yet may well be worth.

        That is more than is likely, the more the less is known: so a source is tried that may be
        good in this text, or may have become good, and a bad one soon is not.
        """
        usual, deviation = self._usual(source)
        return probability(usual + deviation)

    def quadrature(self, source: str, better: float = 0.0) -> list[tuple[float, float]]:
        """Return what such a proposal may be worth, as probabilities of estimates.

        `better` is by how much it will do better than it did, in log odds.
        """
        usual, deviation = self._usual(source)
        return [(weight, probability(usual + better + away * deviation)) for weight, away in SPREAD]

    def learn(self, round_: Round, runs: Sequence[Run]) -> None:
        """Learn from a round, and from all `runs` that were on offer where it began.

        Those cost nothing to judge, whether they were taken or not: a source that is not used now
        is known to have become good as soon as it is.
        """
        shown = set[str]()
        for source, bucket, odds in _observed(round_, runs):
            expected = self.estimate(source, bucket)
            self._kind(source, bucket).learn(odds, expected)
            self._text_effect(source).learn(odds, expected)
            self._source(source).learn(odds, expected)
            shown.add(source)
        for source, effect in self._text_effects.items():
            effect.fade(source in shown)
        for token in round_.tokens:
            if (margin := token.target_row.margin) is not None:
                self._sure.add(probability(self._kind(SURE, margin).value))

    def _usual(self, source: str) -> tuple[float, float]:
        """Return the log odds of a proposal of which nothing is known, and their deviation.

        A draft model need not be asked for that: where the target is sure, most drafts are right.
        """
        if source == MODEL:
            usual, source = self._sure.value, SURE
        else:
            kinds = KNOWN.get(source, UNKNOWN)
            usual = kinds[len(kinds) // 2]
        return log_odds(usual) + self._tendency(source), self._text_effect(source).deviation

    def _tendency(self, source: str) -> float:
        """Return how much better or worse than usual a source does, by all that is known."""
        return self._source(source).value + self._text_effect(source).value

    def _kind(self, source: str, bucket: int) -> Odds:
        key = source, bucket
        if key not in self._kinds:
            known = KNOWN.get(source, UNKNOWN)
            self._kinds[key] = Odds(log_odds(known[min(bucket, len(known) - 1)]), KIND_PRECISION)
        return self._kinds[key]

    def _source(self, source: str) -> Odds:
        return self._sources.setdefault(source, Odds(0.0, SOURCE_PRECISION))

    def _text_effect(self, source: str) -> Odds:
        return self._text_effects.setdefault(
            source, Odds(0.0, TEXT_PRECISION.get(source, COPIES_TEXT_PRECISION))
        )


def _observed(round_: Round, runs: Sequence[Run]) -> Iterator[tuple[str, int, float]]:
    """Yield what a round shows: of which source, by what evidence, the odds of a proposal."""
    for run in runs:
        yield run.source, run.buckets[0], round_.tokens[0].target_row.prob(run.tokens[0])
    judged = {run.source for run in runs}
    for i, token in enumerate(round_.tokens[: round_.tested]):
        row, proposal = token.target_row, token.proposal
        if proposal and (i or proposal.source not in judged):
            odds = row.overlap(proposal.row)
            yield proposal.source, proposal.bucket, odds
            if proposal.source == MODEL and row.margin is not None:
                yield SURE, row.margin, odds
