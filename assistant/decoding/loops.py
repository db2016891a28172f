"""A round of ArS and a round of SpS. They know token ids, not text.

A round appends the tokens it decodes to the list it is given, and nothing else has a state. So
rounds of both kinds may follow one another.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from assistant.decoding.model import Logits, Model
from assistant.decoding.row import Row
from assistant.decoding.rules.rule import Rule, Verdict
from assistant.decoding.sampling import Origin
from assistant.decoding.sources.draft import Draft, Drafter, Plan, Proposal
from assistant.decoding.warp import Warp


@dataclass(frozen=True, slots=True, eq=False)
class Rejected:
    """A rejected proposal, and what verification computed for it."""

    proposal: Proposal
    target_row: Row | None  # None: after a rejection, where nothing is tested
    uniform: float | None
    threshold: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """A decoded token and its origin."""

    id: int
    origin: Origin
    target_row: Row
    proposal: Proposal | None = None  # at this position, accepted or replaced
    uniform: float | None = None  # of the accept test at this position
    threshold: float | None = None  # that the block rule compared it with


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """The result of one evaluation of the target: accepted proposals and one more token."""

    tokens: tuple[Sampled, ...]
    rejected: tuple[Rejected, ...] = ()  # and those after the rejected one

    @property
    def accepted(self) -> int:
        """How many proposals were accepted."""
        return len(self.tokens) - 1

    @property
    def proposed(self) -> int:
        """How many proposals there were."""
        return self.accepted + len(self.rejected)

    @property
    def tested(self) -> int:
        """How many proposals count as tested: the accepted ones, and the first rejected one."""
        return min(self.accepted + 1, self.proposed)


def autoregressive(target: Model, tokens: list[int], warp: Warp, rule: Rule) -> Iterator[Round]:
    """ArS: one token per evaluation of the target."""
    while True:
        row = warp(target.logits(tokens)[0], tokens)
        token = rule.draw(row, len(tokens))
        tokens.append(token)
        yield Round((Sampled(token, Origin.TARGET, row),))


def speculative_round(
    target: Model,
    drafter: Drafter,
    tokens: list[int],
    plan: Plan,
    warp: Warp,
    rule: Rule,
    target_warp: Warp | None = None,
) -> tuple[Round, Logits]:
    """SpS: propose, evaluate the target once, and verify. Chen et al. 2023, algorithm 2.

    The draft's rows are made by `warp`, the target's by `target_warp` if there is one. Also returns
    the target's logits: after the last of `tokens`, and after each proposal.
    """
    draft = drafter.propose(tokens, plan, warp, rule.draw)
    context = [*tokens, *draft.tokens]
    logits = target.logits(context, rows=len(draft.proposals) + 1)
    warp = target_warp or warp
    rows = (warp(row, context[: len(tokens) + i]) for i, row in enumerate(logits))
    verdict = rule.verify(draft, rows, len(tokens))
    last = rule.draw(verdict.row, len(tokens) + verdict.accepted)
    new = (*draft.tokens[: verdict.accepted], last)
    tokens.extend(new)
    return Round(_sampled_tokens(new, draft, verdict), _rejected_tokens(draft, verdict)), logits


def _sampled_tokens(new: tuple[int, ...], draft: Draft, verdict: Verdict) -> tuple[Sampled, ...]:
    accepted, proposals = verdict.accepted, (*draft.proposals, None)
    follows_all = not len(draft.rows[accepted].ids)  # the last token, after full acceptance
    # The coupled rule draws from the target's row even after a rejection.
    is_targets = follows_all or verdict.row is verdict.target_rows[accepted]
    origins = (Origin.DRAFT,) * accepted + (Origin.TARGET if is_targets else Origin.RESIDUAL,)
    return tuple(
        Sampled(token, origins[i], verdict.target_rows[i], proposals[i], *_test(verdict, i))
        for i, token in enumerate(new)
    )


def _rejected_tokens(draft: Draft, verdict: Verdict) -> tuple[Rejected, ...]:
    def rejected(i: int) -> Rejected:
        target_row = verdict.target_rows[i] if i < len(verdict.target_rows) else None
        return Rejected(draft.proposals[i], target_row, *_test(verdict, i))

    return tuple(rejected(i) for i in range(verdict.accepted, len(draft.proposals)))


def _test(verdict: Verdict, i: int) -> tuple[float | None, float | None]:
    """Return the uniform and the threshold of the i-th proposal."""
    if i >= len(verdict.uniforms):
        return None, None
    return verdict.uniforms[i], verdict.thresholds[i] if verdict.thresholds else None
