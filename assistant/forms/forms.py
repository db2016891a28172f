"""Forms for the answers of one model."""

from collections.abc import Callable, Sequence

from assistant.forms.grammar import matcher_of
from assistant.forms.mask import FormMask
from assistant.forms.tokenizer import tokenizer_of
from assistant.request import AnswerForm
from models.base import Vocab


class Forms:
    """Understand forms in a vocabulary of `n_vocab` tokens."""

    def __init__(self, vocab: Vocab, n_vocab: int) -> None:
        self._stops = vocab.stop_tokens
        self._tokenizer = tokenizer_of(vocab, n_vocab)

    def mask(
        self, form: AnswerForm, after: Sequence[int] = ()
    ) -> Callable[[list[int], int], FormMask]:
        """Return what makes the mask of an answer, of its prompt and how much of that it began.

        With `after`, the form begins once these tokens have come, as the end of thoughts.

        Raises:
            UsageError: the form cannot be used.
        """
        matcher = matcher_of(form, self._tokenizer)

        def made(tokens: list[int], begun: int) -> FormMask:
            own = matcher.deep_copy()
            return FormMask(own, self._tokenizer, self._stops, tokens, begun, after)

        return made
