"""A model's vocabulary, as llguidance wants to know it."""

from llguidance import LLTokenizer, TokenizerWrapper

from models.base import Vocab
from models.errors import UsageError

MARK = "\2"
"""A character before a text, so that no tokenizer puts a space there."""
SAMPLE = '{"name": "Zoë", "ages": [4, 12]}'


def tokenizer_of(vocab: Vocab, n_vocab: int) -> LLTokenizer:
    """Return the tokenizer of a vocabulary of `n_vocab` tokens. It takes about a second.

    What a text shows nothing of, such as control tokens, is nothing that a form could ask for; and
    a stop token is never text.

    Raises:
        UsageError: what it spells is not what it was given to spell.
    """
    spells = _Spells(vocab, n_vocab)
    if b"".join(spells.tokens[token] for token in spells(SAMPLE)) != SAMPLE.encode():
        raise UsageError("This model's vocabulary does not spell text as it is, as forms need it.")
    return LLTokenizer(
        TokenizerWrapper(spells), n_vocab=n_vocab, eos_token=sorted(vocab.stop_tokens)
    )


class _Spells:
    """What `TokenizerWrapper` asks for; it finds the attributes by their names."""

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
        """Return the tokens that the model has read such a text as."""
        text = text if isinstance(text, str) else text.decode("utf-8", "replace")
        tokens = self._vocab.tokenize(text)
        if b"".join(self.tokens[token] for token in tokens) == text.encode():
            return tokens
        return self._vocab.tokenize(MARK + text)[len(self._vocab.tokenize(MARK)) :]
