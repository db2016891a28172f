"""The shipped rules with mistakes in them: a check that cannot find these is worth nothing."""

from collections.abc import Iterable
from dataclasses import replace

from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.residual import residual
from assistant.decoding.rules.rule import Verdict
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.draft import Draft


class AcceptsAll(TokenRule):
    """Never reject."""

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept every proposal."""
        targets, kept = tuple(target_rows), len(draft.proposals)
        return Verdict(kept, residual(targets[kept], draft.last), targets, (None,) * kept)


class ReplacesFromTheTarget(TokenRule):
    """Know no residual."""

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept as the token rule does, and draw the next token from the target's own row."""
        verdict = super().verify(draft, target_rows, position)
        return replace(verdict, row=verdict.target_rows[-1])


class ForgetsTheShare(BlockRule):
    """Take the token rule's residual, whatever share the kept beginning has."""

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept as the block rule does, and draw the next token from the wrong residual."""
        verdict = super().verify(draft, target_rows, position)
        kept = verdict.accepted
        return replace(verdict, row=residual(verdict.target_rows[kept], draft.rows[kept]))
