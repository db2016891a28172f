"""Forms for the answers of one model."""

from collections.abc import Callable

from assistant.forms.grammar import matcher_of
from assistant.forms.mask import FormMask, Start
from assistant.forms.tokenizer import tokenizer_of
from assistant.request import AnswerForm
from models.base import Vocab


class Forms:
    """Understand forms in a vocabulary of `n_vocab` tokens."""

    def __init__(self, vocab: Vocab, n_vocab: int) -> None:
        self._stops = vocab.stop_tokens
        self._tokenizer = tokenizer_of(vocab, n_vocab)

    def mask(self, form: AnswerForm) -> Callable[[list[int], Start], FormMask]:
        """Return what makes the mask of an answer, from its prompt and what finds its start.

        Raises:
            UsageError: the form cannot be used.
        """
        matcher = matcher_of(form, self._tokenizer)

        def made(tokens: list[int], start: Start) -> FormMask:
            own = matcher.deep_copy()
            return FormMask(own, self._tokenizer, self._stops, tokens, start)

        return made
