"""The tail of a rejected draft: it may be right after the token that replaced the wrong one."""

from collections.abc import Sequence

from assistant.decoding.sources.draft import Copying, Proposal, Run


class TailSource(Copying):
    """Copy what was proposed after a rejected token.

    What a tail proposed in turn has no tail: drafts that were wrong twice are rarely right.
    """

    name = "tail"

    def __init__(self) -> None:
        self._start = 0
        self._draft: list[int] = []  # and the context before it

    def keep(self, tokens: Sequence[int], proposals: Sequence[Proposal]) -> None:
        """Remember what was proposed to follow `tokens`; nothing at all changes nothing."""
        if proposals:
            own = any(proposal.source == self.name for proposal in proposals)
            self._start = len(tokens)
            self._draft = [] if own else [*tokens, *(proposal.token for proposal in proposals)]

    def offer(self, tokens: Sequence[int], room: int) -> Run | None:
        """Offer what is left of the draft, if just one of its tokens was replaced."""
        since = zip(tokens[self._start :], self._draft[self._start :], strict=False)
        right = [token == proposed for token, proposed in since]
        rest = self._draft[len(tokens) :][:room]
        if right.count(False) != 1 or not rest:
            return None
        before = right.index(False)
        fits = len(right) - before - 1
        evidence = (strength(before, fits + i) for i in range(len(rest)))
        return Run(self.name, tuple(rest), tuple(evidence))


def strength(before: int, after: int) -> int:
    """Return the class, from 0 to 9, of so many right tokens before and after the wrong one."""
    return 2 * min(after, 4) + (before >= 2)
