"""How verification decided on each token: probabilities, uniforms and alternatives."""

from assistant.decoding.loops import Rejected, Round, Sampled
from assistant.decoding.warp import Row
from assistant.events import Alternative, Ghost, Token
from models.native.vocab import Vocab


class Provenance:
    """Report decoded and rejected tokens, with the `alternatives` best tokens of each row."""

    def __init__(self, vocab: Vocab, alternatives: int) -> None:
        self._vocab = vocab
        self._alternatives = alternatives
        self._names: dict[int, str] = {}

    def token(self, sampled: Sampled, text: str, position: int) -> Token:
        """Return the report of a decoded token that completes `text`."""
        target, draft, proposal = sampled.target_row, sampled.draft_row, sampled.proposal
        return Token(
            sampled.id,
            text,
            sampled.origin,
            proposal.source if proposal else None,
            float(target.prob(sampled.id)),
            float(draft.prob(sampled.id)) if len(draft.ids) else None,
            position,
            _plain(sampled.uniform),
            self._top(target),
            self._top(draft),
            _plain(sampled.threshold),
        )

    def ghosts(self, round_: Round) -> tuple[Ghost, ...]:
        """Return the reports of a round's rejected proposals."""
        return tuple(
            self._ghost(rejected, round_.accepted + i) for i, rejected in enumerate(round_.rejected)
        )

    def _ghost(self, rejected: Rejected, position: int) -> Ghost:
        proposal, target = rejected.proposal, rejected.target_row
        return Ghost(
            proposal.token,
            self._name(proposal.token),
            proposal.source,
            position,
            float(proposal.row.prob(proposal.token)),
            None if target is None else float(target.prob(proposal.token)),
            _plain(rejected.uniform),
            _plain(rejected.threshold),
        )

    def _top(self, row: Row) -> tuple[Alternative, ...]:
        best = row.top(self._alternatives)
        return tuple(Alternative(token, self._name(token), prob) for token, prob in best)

    def _name(self, token: int) -> str:
        """Return the text of a token by itself; the name of a control token."""
        if token not in self._names:
            piece = self._vocab.piece(token).decode("utf-8", "replace")
            self._names[token] = piece or self._vocab.text(token)
        return self._names[token]


def _plain(number: float | None) -> float | None:
    """Return a NumPy number as a Python float, which can be sent to another process."""
    return None if number is None else float(number)
