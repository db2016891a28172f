"""Modified rejection sampling: which proposals are kept, and what the next token is drawn from.

Chen et al. 2023, "Accelerating Large Language Model Decoding with Speculative Sampling",
algorithm 2; Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding",
algorithm 1. The papers swap p and q, so here they are the target's t and the draft's d.

A draft's row may have a mass below 1; what is missing is the probability that the draft ends there.
A token x comes out with probability

    min(t(x), d(x))  +  (1 - sum of min(t, d)) * (t(x) - d(x))+ / sum of (t - d)+   =   t(x)

The first term is a proposal accepted, d(x) min(1, t(x) / d(x)). The factor behind it gathers every
way of having none: a rejection, or a draft that ended. So drafts of any length, the one-hot rows of
a table, and the extra token after full acceptance (the draft ended for sure: its row is empty, and
the residual is the target's own row) are all this one rule. It holds if the decision to propose at
a position used nothing of the token proposed there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assistant.sampling import Uniforms
from assistant.warp import Row


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """How many proposals are accepted, and the row that the token after them is drawn from."""

    accepted: int
    row: Row  # not normalised
    target_rows: tuple[Row, ...]  # those that were read: one more than accepted
    uniforms: tuple[float, ...]  # one for each proposal tested


def verify(
    tokens: Sequence[int],
    draft_rows: Sequence[Row],
    target_rows: Iterable[Row],
    rng: Uniforms,
) -> Verdict:
    """Accept a prefix of the proposed `tokens`.

    Args:
        tokens: the n proposed tokens.
        draft_rows: n + 1 rows; a token was drawn from its row, and the last one, often empty, was
            in force when the draft ended.
        target_rows: n + 1 rows of the target, read only up to the first rejection.
        rng: one uniform is used for each token tested.
    """
    read: list[Row] = []
    drawn: list[float] = []
    for accepted, (draft, target) in enumerate(zip(draft_rows, target_rows, strict=False)):
        read.append(target)
        if accepted < len(tokens):
            drawn.append(rng.random())
            if accepts(target, draft, tokens[accepted], drawn[-1]):
                continue
        return Verdict(accepted, residual(target, draft), tuple(read), tuple(drawn))
    raise ValueError(f"{len(tokens)} proposals need {len(tokens) + 1} rows on both sides")


def accepts(target: Row, draft: Row, token: int, uniform: float) -> bool:
    """Accept with probability min(1, target / draft).

    Nothing is divided, so a proposal of probability 0 is no special case; and the comparison is
    strict, so that the target's zeros are rejected even when the uniform is 0.
    """
    return bool(uniform * draft.prob(token) < target.prob(token))


def residual(target: Row, draft: Row) -> Row:
    """Return (target - draft)+, not normalised: what the target has left to say.

    Equal rows leave nothing, and then nothing can have been rejected but by rounding: the answer is
    the target's row.
    """
    excess = target.probs - draft.probs_of(target.ids)
    left = excess > 0
    return Row(target.ids[left], excess[left]) if left.any() else target
