"""A model's vocabulary, described to llguidance."""

from llguidance import LLTokenizer, TokenizerWrapper

from models.errors import UsageError
from models.native.vocab import Vocab

MARK = "\2"
"""A character put before a text, because some tokenizers add a space at its beginning."""
SAMPLE = '{"name": "Zoë", "ages": [4, 12]}'


def tokenizer_of(vocab: Vocab, n_vocab: int) -> LLTokenizer:
    """Return llguidance's tokenizer of a vocabulary of `n_vocab` tokens; it takes about a second.

    Control tokens and stop tokens have no text, so no form can ask for them by it.

    Raises:
        UsageError: the vocabulary changes a text that is tokenised, or has no stop token.
    """
    spells = _Spells(vocab, n_vocab)
    if b"".join(spells.tokens[token] for token in spells(SAMPLE)) != SAMPLE.encode():
        raise UsageError("This model's vocabulary does not spell text as it is, as forms need it.")
    return LLTokenizer(
        TokenizerWrapper(spells), n_vocab=n_vocab, eos_token=sorted(vocab.stop_tokens)
    )


class _Spells:
    """The attributes that `TokenizerWrapper` reads, by the names it expects."""

    bos_token_id = None
    special_token_ids: tuple[int, ...] = ()

    def __init__(self, vocab: Vocab, n_vocab: int) -> None:
        stops = vocab.stop_tokens
        if not stops:
            raise UsageError("This model has no token to end an answer with, as forms need it.")
        self.eos_token_id = min(stops)
        self.tokens = [b"" if i in stops else vocab.piece(i) for i in range(n_vocab)]
        self._vocab = vocab

    def __call__(self, text: str | bytes) -> list[int]:
        """Return the tokens of a text without the space that some tokenizers put before it."""
        text = text if isinstance(text, str) else text.decode("utf-8", "replace")
        tokens = self._vocab.tokenize(text)
        if b"".join(self.tokens[token] for token in tokens) == text.encode():
            return tokens
        return self._vocab.tokenize(MARK + text)[len(self._vocab.tokenize(MARK)) :]
