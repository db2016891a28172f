"""The block rule: accept the longest prefix of a draft that the target supports as a whole.

Sun et al. 2025, "Block Verification Accelerates Speculative Decoding", arXiv 2403.10444, algorithm
2. No rule that sees one draft accepts more on average. With the target's rows t and the draft's
rows d, a prefix x1 ... xi has

    share(x1 ... xi)  =  min(1, share(x1 ... xi-1) t(xi) / d(xi)),   share() = 1
    left(x1 ... xi)   =  sum over y of (share t(y) - d(y))+

in which t and d are the rows after it. From the longest prefix down, the first one is accepted
whose uniform number is below left / (left + 1 - share), and the token after it is drawn from the
summands of left. (The paper's p is share, its h this threshold.) Prefixes need not pass one by one:
a token may be accepted that would have failed alone.

Whenever x1 ... xi was proposed, it is accepted, alone or as part of a longer prefix, with
probability share: a longer one is accepted with probability

    sum over y of d(y) min(1, share t(y) / d(y))  =  sum of min(d, share t)  =  share - left

by induction from the longer ones; this one itself otherwise, with its threshold, which makes
(1 - share + left) left / (left + 1 - share) = left. Together that is share, and at the end of a
draft, where d is empty, left is share and so is the threshold. Hence a token y follows with

    min(d(y), share t(y))  +  (share t(y) - d(y))+   =   share t(y)

accepted or drawn, out of share: with the target's probability, whatever came before. As under the
token rule, the mass that a draft's row lacks is the probability that the draft ends there.
"""

from collections.abc import Iterable

from assistant.decoding.row import Row
from assistant.decoding.rules.rule import DrawingRule, Verdict, excess, missing_rows, residual
from assistant.decoding.sources.draft import Draft, Proposal


class BlockRule(DrawingRule):
    """Test the prefixes of a draft, the longest first, each with a uniform number of its own."""

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept a prefix of `draft`; one uniform is used for each prefix that is tried.

        `target_rows` are read up to the first proposal that the target forbids. That has threshold
        0, and what is accepted as part of a longer prefix has threshold 1.
        """
        targets, shares = _shares(draft, target_rows)
        uniforms: list[float | None] = [None] * min(len(targets), len(draft.proposals))
        longest = len(shares) - 1
        thresholds = [1.0] * longest + [0.0] * (len(uniforms) - longest)
        for accepted in range(longest, 0, -1):
            target, share = targets[accepted], shares[accepted]
            left = excess(Row(target.ids, target.probs * share), draft.rows[accepted])
            thresholds[accepted - 1] = threshold = _threshold(left, share)
            uniforms[accepted - 1] = uniform = self._rng.random()
            if uniform < threshold:
                break
        else:
            accepted, left = 0, residual(targets[0], draft.rows[0])
        return Verdict(accepted, left, targets, tuple(uniforms), tuple(thresholds))


def _shares(draft: Draft, target_rows: Iterable[Row]) -> tuple[tuple[Row, ...], list[float]]:
    """Return the target's rows that were read, and the shares of the prefixes that may pass."""
    read: list[Row] = []
    shares: list[float] = [1]  # not 1.0: a share of exact fractions stays one
    for proposal, target in zip([*draft.proposals, None], target_rows, strict=False):
        read.append(target)
        share = extended_share(shares[-1], target, proposal) if proposal else 0
        if not share:
            return tuple(read), shares
        shares.append(share)
    raise missing_rows(draft)


def extended_share(share: float, target: Row, proposal: Proposal) -> float:
    """Return the share of a prefix after one more proposal.

    It is 0 if the target forbids that, even if the draft could not have drawn it.
    """
    scaled_prob = share * target.prob(proposal.token)
    draft_prob = proposal.row.prob(proposal.token)
    return scaled_prob / draft_prob if scaled_prob < draft_prob else int(scaled_prob > 0)


def _threshold(left: Row, share: float) -> float:
    mass = left.probs.sum()
    return mass / (mass + (1 - share)) if mass else 0.0
