"""The prompt of a gap in a text: what stands around it, between the marks that a model knows."""

from collections.abc import Iterable, Iterator

from assistant.request import Infill
from models.errors import UsageError
from models.native.vocab import Vocab

NO_MARKS = (
    "This model has no tokens for a gap in a text, so it cannot complete between two texts; "
    "qwen2.5-coder-1.5b can."
)
SUFFIX_S, SUFFIX_FEWEST, SUFFIX_MOST = 0.5, 40, 512
"""How long a suffix may be read, in seconds, and limits of that in tokens.

Each key that is typed before a suffix has what is read of it read again. In 30 gaps Qwen2.5-Coder
1.5B gave the line that had stood there a log probability of -0.89 a token with 40 tokens of the
suffix, and -0.73 with 510; its own first line was that one in 7 and in 11 of them. In 11 of these a
suffix before the prefix did far worse (-1.80 beside -1.35), and one as a file before it as well as
510 tokens in place (-1.10 beside -1.08); but then a cursor that moves has the whole prefix read.
"""
AGREEING = 64  # tokens before the gap that stand before a prediction, too: a long match is trusted
STEPS = 4  # a prefix that is too long is cut by these parts of it, so that the caches stay valid


def suffix_tokens(token_s: float) -> int:
    """Return how many tokens of a suffix to read where each takes `token_s`; 0.0 is unknown."""
    affordable = int(SUFFIX_S / token_s) if token_s else 0
    return min(SUFFIX_MOST, max(SUFFIX_FEWEST, affordable))


class InfillPrompt:
    """Tokenise a gap for one model.

    Each part is tokenised by itself, so that no token spans the gap, and nothing in it becomes a
    control token.
    """

    def __init__(
        self,
        vocab: Vocab,
        prefix: str,
        infill: Infill,
        budget: int,
        prediction: str = "",
        suffix_tokens: int = SUFFIX_FEWEST,
    ) -> None:
        """Take as much of a gap's surroundings as fits into `budget` tokens.

        `prediction` is what may well fill the gap; no more than `suffix_tokens` follow it.

        Raises:
            UsageError: the model has no marks for a gap.
        """
        self._vocab, self._marks = vocab, vocab.infill_marks
        if not {"prefix", "suffix"} <= self._marks.keys():
            raise UsageError(NO_MARKS)
        budget -= len(self._marks) + 1
        before, self._after = map(vocab.tokenize_inside, (prefix, infill.suffix))
        self._suffix = self._after[: min(suffix_tokens, budget // 4)]
        left = budget - len(self._suffix)
        step = max(1, left // STEPS)
        self._prefix = before[-(-max(0, len(before) - left) // step) * step :]
        self._files = self._fitting(infill.files, left - len(self._prefix))
        self._predicted = vocab.tokenize_inside(prediction)

    @property
    def tokens(self) -> list[int]:
        """The whole prompt. A model without a mark for the middle reads the suffix first."""
        marks, bos = self._marks, self._vocab.bos
        parts = {name: [token] for name, token in marks.items()}
        start = [] if bos is None else [bos]
        after, before = parts["suffix"] + self._suffix, parts["prefix"] + self._prefix
        if "middle" not in parts:
            return [*start, *self._files, *after, *before]
        return [*start, *self._files, *before, *after, *parts["middle"]]

    @property
    def context(self) -> list[int]:
        """What an answer may copy, in the order in which it continues it: the prefix is last."""
        predicted = [*self._prefix[-AGREEING:], *self._predicted] if self._predicted else []
        return [*self._files, *self._after, *predicted, *self._prefix]

    def _fitting(self, files: Iterable[tuple[str, str]], budget: int) -> list[int]:
        """Return the tokens of as many of the last files as fit."""
        fitting: list[int] = []
        texts = [*self._written(files)]
        for tokens in reversed(texts):
            if len(fitting) + len(tokens) > budget:
                break
            fitting = tokens + fitting
        return fitting

    def _written(self, files: Iterable[tuple[str, str]]) -> Iterator[list[int]]:
        """Yield the tokens of each file, with its name."""
        tokenize, mark = self._vocab.tokenize_inside, self._marks.get("file")
        for name, text in files:
            start = tokenize("\n\n") if mark is None else [mark, *tokenize(f"{name}\n")]
            yield [*start, *tokenize(text)]
