"""A small model as a draft source."""

from collections.abc import Sequence

from assistant.drafting.draft import Draft
from assistant.sampling import Uniforms, draw
from assistant.warp import EMPTY, Row, Warp
from models.base import Logits, Model
from models.errors import DraftFailed, ModelError


class ModelDrafter:
    """Propose by autoregressive sampling from `model`, warped like the target.

    `n_vocab` is the target's. Vocabularies may differ in padding at the end: ids that only one of
    them has are never proposed, and shown to the draft as token 0, which costs acceptance alone.
    """

    source = "model"

    def __init__(self, model: Model, n_vocab: int) -> None:
        self.model = model
        self._shared = min(model.n_vocab, n_vocab)
        self._knows_all = model.n_vocab >= n_vocab

    def known(self, tokens: Sequence[int]) -> list[int]:
        """Return `tokens` as the draft can read them."""
        if self._knows_all:
            return list(tokens)
        return [token if token < self.model.n_vocab else 0 for token in tokens]

    def propose(self, tokens: Sequence[int], k: int, warp: Warp, rng: Uniforms) -> Draft:
        """Propose `k` tokens, or as many as the draft's context has room for.

        Raises:
            DraftFailed: the model cannot go on.
        """
        context, rows = self.known(tokens), list[Row]()
        for _ in range(min(k, self.model.n_ctx - len(tokens))):
            row = warp(self._logits(context), context)
            context.append(draw(row, rng))
            rows.append(row)
        return Draft(tuple(context[len(tokens) :]), (*rows, EMPTY), self.source)

    def _logits(self, context: Sequence[int]) -> Logits:
        try:
            return self.model.logits(context)[0, : self._shared]
        except ModelError as error:
            raise DraftFailed(str(error)) from error
