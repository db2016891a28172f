"""What is told of each token: its text, its probabilities, and what else was possible."""

from assistant.decoding import Proposed, Round, Sampled
from assistant.events import Alternative, Ghost, Token
from assistant.warp import Row
from models.base import Vocab


class Provenance:
    """Put into words and numbers what verification decided, with `alternatives` for each row."""

    def __init__(self, vocab: Vocab, alternatives: int) -> None:
        self._vocab = vocab
        self._alternatives = alternatives
        self._names: dict[int, str] = {}

    def token(self, sampled: Sampled, text: str, position: int) -> Token:
        """Return a decoded token that completes `text`."""
        target, draft, proposed = sampled.target_row, sampled.draft_row, len(sampled.draft_row.ids)
        return Token(
            sampled.id,
            text,
            sampled.origin,
            sampled.source,
            float(target.prob(sampled.id)),
            float(draft.prob(sampled.id)) if proposed else None,
            position,
            None if sampled.uniform is None else float(sampled.uniform),
            self._top(target),
            self._top(draft),
        )

    def ghosts(self, round_: Round) -> tuple[Ghost, ...]:
        """Return the proposals of a round that were thrown away."""
        return tuple(
            self._ghost(proposed, round_.accepted + i) for i, proposed in enumerate(round_.rejected)
        )

    def _ghost(self, proposed: Proposed, position: int) -> Ghost:
        target = proposed.target_row
        return Ghost(
            proposed.id,
            self._name(proposed.id),
            proposed.source,
            position,
            float(proposed.draft_row.prob(proposed.id)),
            None if target is None else float(target.prob(proposed.id)),
            None if proposed.uniform is None else float(proposed.uniform),
        )

    def _top(self, row: Row) -> tuple[Alternative, ...]:
        best = row.top(self._alternatives)
        return tuple(Alternative(token, self._name(token), prob) for token, prob in best)

    def _name(self, token: int) -> str:
        """Return the text of a token by itself; a control token has but its name."""
        if token not in self._names:
            piece = self._vocab.piece(token).decode("utf-8", "replace")
            self._names[token] = piece or self._vocab.text(token)
        return self._names[token]
