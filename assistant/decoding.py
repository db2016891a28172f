"""The two decoding loops, as generators of rounds. They know token ids, not text.

Both append what they decode to the list of tokens they are given, which is all the state they have:
two loops over one list may take turns, a round at a time.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from assistant.drafting.draft import Draft, Drafter
from assistant.events import Origin
from assistant.sampling import Uniforms, draw
from assistant.verify import Verdict, verify
from assistant.warp import EMPTY, Row, Warp
from models.base import Model


@dataclass(frozen=True, slots=True, eq=False)
class Proposed:
    """A token that a draft source proposed, and how far verification came with it."""

    id: int
    source: str
    draft_row: Row
    target_row: Row | None  # None: behind a rejection, where nothing is tested
    uniform: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """One decoded token and where it came from."""

    id: int
    origin: Origin
    source: str | None
    target_row: Row
    draft_row: Row  # empty where nothing was proposed
    uniform: float | None  # of the accept test at this place


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """What one evaluation of the target yielded: accepted proposals and one token more."""

    tokens: tuple[Sampled, ...]
    rejected: tuple[Proposed, ...] = ()  # and those behind the rejected one

    @property
    def accepted(self) -> int:
        """How many proposals were kept."""
        return len(self.tokens) - 1

    @property
    def proposed(self) -> int:
        """How many proposals there were."""
        return self.accepted + len(self.rejected)

    @property
    def tested(self) -> int:
        """How many proposals met the accept test."""
        return min(self.accepted + 1, self.proposed)


def autoregressive(target: Model, tokens: list[int], warp: Warp, rng: Uniforms) -> Iterator[Round]:
    """ArS: one token per evaluation of the target."""
    while True:
        row = warp(target.logits(tokens)[0], tokens)
        token = draw(row, rng)
        tokens.append(token)
        yield Round((Sampled(token, Origin.TARGET, None, row, EMPTY, None),))


def speculative(
    target: Model,
    drafter: Drafter,
    tokens: list[int],
    lookahead: Callable[[], int],
    warp: Warp,
    rng: Uniforms,
) -> Iterator[Round]:
    """SpS: up to `lookahead() + 1` tokens per evaluation of the target.

    Chen et al. 2023, algorithm 2. `lookahead` is asked once before each round.
    """
    while True:
        draft = drafter.propose(tokens, lookahead(), warp, rng)
        context = [*tokens, *draft.tokens]
        logits = target.logits(context, rows=len(draft.tokens) + 1)
        rows = (warp(row, context[: len(tokens) + i]) for i, row in enumerate(logits))
        verdict = verify(draft.tokens, draft.rows, rows, rng)
        new = (*draft.tokens[: verdict.accepted], draw(verdict.row, rng))
        round_ = Round(_sampled(new, draft, verdict), _rejected(draft, verdict))
        tokens.extend(new)
        yield round_


def _sampled(new: tuple[int, ...], draft: Draft, verdict: Verdict) -> tuple[Sampled, ...]:
    def sampled(i: int, token: int) -> Sampled:
        row: Row = draft.rows[i]
        proposed = len(row.ids) > 0
        replaced = Origin.RESIDUAL if proposed else Origin.TARGET
        return Sampled(
            token,
            Origin.DRAFT if i < verdict.accepted else replaced,
            draft.source if proposed else None,
            verdict.target_rows[i],
            row,
            verdict.uniforms[i] if i < len(verdict.uniforms) else None,
        )

    return tuple(sampled(i, token) for i, token in enumerate(new))


def _rejected(draft: Draft, verdict: Verdict) -> tuple[Proposed, ...]:
    def proposed(i: int) -> Proposed:
        tested = i < len(verdict.uniforms)
        return Proposed(
            draft.tokens[i],
            draft.source,
            draft.rows[i],
            verdict.target_rows[i] if tested else None,
            verdict.uniforms[i] if tested else None,
        )

    return tuple(proposed(i) for i in range(verdict.accepted, len(draft.tokens)))
