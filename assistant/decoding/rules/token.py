"""The token rule, modified rejection sampling: each proposal is tested by itself.

Chen et al. 2023, "Accelerating Large Language Model Decoding with Speculative Sampling",
algorithm 2; Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding",
algorithm 1. The papers swap p and q, so here they are the target's t and the draft's d.

A draft's row may have a mass below 1; what is missing is the probability that the draft ends there.
A token x comes out with probability

    min(t(x), d(x))  +  (1 - sum of min(t, d)) * (t(x) - d(x))+ / sum of (t - d)+   =   t(x)

The first term is a proposal accepted, d(x) min(1, t(x) / d(x)). The factor after it gathers every
way of having none: a rejection, or a draft that ended. So drafts of any length, the one-hot rows of
a table, and the extra token after full acceptance (the draft ended for sure: its row is empty, and
the residual is the target's own row) are all this one rule. It holds if the decision to propose at
a position used nothing of the token proposed there.
"""

from collections.abc import Iterable

from assistant.decoding.row import Row
from assistant.decoding.rules.rule import DrawingRule, Verdict, missing_rows, residual
from assistant.decoding.sources.draft import Draft


class TokenRule(DrawingRule):
    """Draw and accept by a stream of uniform numbers."""

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept a beginning of `draft`; one uniform is used for each token tested.

        `target_rows` are read only up to the first rejection.
        """
        read: list[Row] = []
        drawn: list[float] = []
        for accepted, (row, target) in enumerate(zip(draft.rows, target_rows, strict=False)):
            read.append(target)
            if accepted < len(draft.proposals):
                drawn.append(self._rng.random())
                if accepts(target, row, draft.proposals[accepted].token, drawn[-1]):
                    continue
            return Verdict(accepted, residual(target, row), tuple(read), tuple(drawn))
        raise missing_rows(draft)


def accepts(target: Row, draft: Row, token: int, uniform: float) -> bool:
    """Accept with probability min(1, target / draft).

    Nothing is divided, so a proposal of probability 0 is no special case; and the comparison is
    strict, so that the target's zeros are rejected even when the uniform is 0.
    """
    return bool(uniform * draft.prob(token) < target.prob(token))
