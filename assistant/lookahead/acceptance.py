"""How likely proposals are to be accepted, learnt for each source and kind of evidence."""

from collections.abc import Sequence

from assistant.decoding import Round
from assistant.drafting.draft import Run
from assistant.row import Row

PRIOR = 3.0  # as many observations the prior counts for
MEMORY = 40.0  # and as many a class remembers
UNKNOWN = (0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99)  # by evidence
KNOWN = {  # measured on answers of the default pair
    "suffix": (0.5, 0.55, 0.75, 0.7, 0.85, 0.88, 0.92, 0.95),
    "tail": (0.15, 0.25, 0.5, 0.75, 0.7, 0.9),
    "ngram": (0.4, 0.6, 0.65, 0.9, 0.55, 0.8, 0.9, 0.7),
    "model": (0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.88, 0.94, 0.97, 0.99),
    "bigram": (0.5, 0.6, 0.5, 0.4, 0.35, 0.25),
    "unigram": (0.05,),
    "random": (0.0,),
}
SURE = (0.48, 0.48, 0.53, 0.6, 0.68, 0.72, 0.85, 0.93, 0.98, 0.99)
"""What the model's proposals are worth by the target's margin, with the default pair."""
USUAL = 0.7  # mean of those in a text of which nothing is known yet
PLAIN = 0.85  # and in one where what is copied is worth what `KNOWN` says


class Mean:
    """A mean that forgets: beyond `MEMORY` observations each new one weighs the same."""

    def __init__(self, value: float) -> None:
        self.value, self._weight = value, PRIOR

    @property
    def learnt(self) -> bool:
        """Whether it is more than a prior."""
        return self._weight > PRIOR

    def doubt(self) -> None:
        """Let what was observed count for little against what will be."""
        self._weight = min(self._weight, PRIOR)

    def add(self, value: float) -> None:
        """Take one observation."""
        self._weight = min(self._weight + 1, MEMORY)
        self.value += (value - self.value) / self._weight


class Acceptance:
    """Estimate the probability that the target accepts a proposal, given that it tests it.

    What is learnt from are not the coins that fell but their odds: the overlap of the two rows.
    """

    def __init__(self) -> None:
        self._classes: dict[tuple[str, int], Mean] = {}
        self._sources: dict[str, Mean] = {}
        self._trust = Mean(1.0)  # what the model is worth against what `SURE` says
        self._sure = Mean(USUAL)

    def begin(self) -> None:
        """Begin another text, in which all of it may be different."""
        for mean in (*self._classes.values(), *self._sources.values()):
            mean.doubt()
        self._sure = Mean(USUAL)

    def of(self, source: str, evidence: int) -> float:
        """Return the estimate for a proposal of which the evidence is known."""
        return self._class(source, evidence).value * self._share(source)

    def along(self, run: Run) -> list[float]:
        """Return the estimates for the tokens of a run, each given those before it."""
        return [self.of(run.source, evidence) for evidence in run.evidence]

    def on_average(self, source: str) -> float:
        """Return the estimate for a proposal of which nothing is known yet."""
        if source == "model":
            return min(1.0, self._trust.value * self._sure.value)
        return self._source(source).value

    def learn(self, round_: Round, runs: Sequence[Run]) -> None:
        """Learn from a round, and from all `runs` that were on offer where it began.

        Those cost nothing to judge, whether they were taken or not: a source that is not used now
        is known to have become good as soon as it is.
        """
        first = round_.tokens[0].target_row
        for run in runs:
            self._learn(run.source, run.evidence[0], first.prob(run.tokens[0]))
        judged = {run.source for run in runs}
        for i, token in enumerate(round_.tokens[: round_.tested]):
            if (proposal := token.proposal) and (i or proposal.source not in judged):
                odds = overlap(token.target_row, proposal.row)
                self._learn(proposal.source, proposal.evidence, odds)
        self._learn_sureness(round_)

    def _learn_sureness(self, round_: Round) -> None:
        """Learn how sure the target is in this text, and what the model is worth against that."""
        for i, token in enumerate(round_.tokens):
            margin = token.target_row.margin
            if margin is None:
                continue
            self._sure.add(SURE[margin])
            if token.proposal and token.proposal.source == "model" and i < round_.tested:
                self._trust.add(overlap(token.target_row, token.proposal.row) / SURE[margin])

    def _learn(self, source: str, evidence: int, odds: float) -> None:
        share = self._share(source)
        self._class(source, evidence).add(min(1.0, odds / share))
        self._source(source).add(odds)

    def _share(self, source: str) -> float:
        """Return what proposals are worth in this text, of what they usually are.

        Nothing is likelier than the target's best token. What a model knows of that itself is in
        its evidence.
        """
        if source == "model" or not self._sure.learnt:
            return 1.0
        return min(1.0, self._sure.value / PLAIN)

    def _class(self, source: str, evidence: int) -> Mean:
        key = source, evidence
        if key not in self._classes:
            prior = KNOWN.get(source, UNKNOWN)
            self._classes[key] = Mean(prior[min(evidence, len(prior) - 1)])
        return self._classes[key]

    def _source(self, source: str) -> Mean:
        if source not in self._sources:
            prior = KNOWN.get(source, UNKNOWN)
            self._sources[source] = Mean(prior[len(prior) // 2])
        return self._sources[source]


def overlap(target: Row, draft: Row) -> float:
    """Return the probability that a proposal drawn from `draft` is accepted.

    The sum of min(target, draft): Leviathan et al. 2023, corollary 3.6.
    """
    if len(draft.ids) == 1:
        return float(min(target.prob(int(draft.ids[0])), draft.probs[0]))
    shared = target.probs.clip(max=draft.probs_of(target.ids))
    return float(shared.sum())
