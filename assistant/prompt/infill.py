"""The prompt of a gap in a text: the text around it, between the marks that a model knows."""

from collections.abc import Sequence

from assistant.request import Infill
from models.base import common_prefix
from models.errors import UsageError
from models.native.vocab import Vocab

NO_MARKS = (
    "This model has no tokens for a gap in a text, so it cannot complete between two texts; "
    "qwen2.5-coder-1.5b can."
)
NEAR, FAR = 24, 240
"""How many tokens of a suffix stand after the prefix, and as a file before it.

In 44 gaps Qwen2.5-Coder 1.5B gave the line that had stood there a log probability of -0.79 a token
with these, -0.81 with 16 and 240, or with 510 after the prefix, and -0.95 with 40 after it; it
wrote that line itself in 13, 9, 16 and 12 of them. A whole suffix before the prefix did far worse.
"""
SUFFIX_S, SUFFIX_FEWEST, SUFFIX_MOST = 0.5, 40, 512
"""Seconds in which a suffix may be read that is only after the prefix, and limits in tokens.

It is only there if a model has no mark for files, or the cursor is far from the far suffix.
"""
FAR_NAME = "rest"  # of the file that the far part of a suffix is written as
BEFORE_PREDICTION = 64  # tokens of the prefix that are repeated there: a long match is trusted
STEPS = 4  # a prefix that is too long is cut by these parts of it, so that the caches stay valid


def suffix_tokens(token_s: float) -> int:
    """Return how many tokens of a suffix to read where each takes `token_s`; 0.0 is unknown."""
    affordable = int(SUFFIX_S / token_s) if token_s else 0
    return min(SUFFIX_MOST, max(SUFFIX_FEWEST, affordable))


class FarSuffix:
    """A part of the suffix that stands before the prefix, like a file, and stays cached.

    It stays the same while the user types and the cursor moves: after another one, the whole prefix
    would be evaluated again.
    """

    def __init__(self) -> None:
        self.text = ""
        """The part; empty if there is none."""
        self._prefix: list[int] = []

    def update(self, prefix: list[int], suffix: str, text: str) -> bool:
        """Replace a part that follows no more by `text`; return whether the part follows closely.

        It is not replaced while most of the prefix is cached.
        """
        if not self._follows(suffix) and common_prefix(self._prefix, prefix) * 2 <= len(prefix):
            self.text = text
        self._prefix = prefix
        return self._follows(suffix)

    def _follows(self, suffix: str) -> bool:
        return bool(self.text) and 0 <= suffix.find(self.text) <= len(self.text)


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
        far_suffix: FarSuffix | None = None,
    ) -> None:
        """Take as much of the text around a gap as fits into `budget` tokens.

        `prediction` may fill the gap. At most `suffix_tokens` tokens of the suffix follow the
        prefix, and at most `NEAR` if others are in `far_suffix`. A `UsageError` says that the model
        has no marks for a gap.
        """
        self._vocab, self._marks = vocab, vocab.infill_marks
        if not {"prefix", "suffix"} <= self._marks.keys():
            raise UsageError(NO_MARKS)
        budget -= len(self._marks) + 1
        before, self._after = map(vocab.tokenize_inside, (prefix, infill.suffix))
        near = limit = min(suffix_tokens, budget // 4)
        far = list[int]()
        if far_suffix and "file" in self._marks and (prefix or infill.suffix):
            after = self._after[NEAR : NEAR + min(FAR, budget // 4)]
            text = b"".join(map(vocab.piece, after)).decode("utf-8", "ignore")
            if far_suffix.update(before, infill.suffix, text.partition("\n")[2]):  # whole lines
                near = min(limit, NEAR)
            files = [(FAR_NAME, far_suffix.text)] if far_suffix.text else []
            far = self._fitting(files, budget // 2)
        self._suffix = self._after[:near]
        left = budget - limit - len(far)  # the same for all places of the cursor
        step = max(1, left // STEPS)
        self._prefix = before[-(-max(0, len(before) - left) // step) * step :]
        self._files = self._fitting(infill.files, left - len(self._prefix)) + far
        self._predicted = vocab.tokenize_inside(prediction)

    @property
    def tokens(self) -> list[int]:
        """The whole prompt. A model without a mark for the middle reads the suffix first."""
        marks, bos = self._marks, self._vocab.bos
        start = [] if bos is None else [bos]
        after, before = [marks["suffix"], *self._suffix], [marks["prefix"], *self._prefix]
        around = [*before, *after, marks["middle"]] if "middle" in marks else after + before
        return [*start, *self._files, *around]

    @property
    def context(self) -> list[int]:
        """The tokens that an answer may copy; it continues the last of them, the prefix."""
        before = self._prefix[-BEFORE_PREDICTION:] if self._predicted else []
        return [*self._files, *self._after, *before, *self._predicted, *self._prefix]

    def _fitting(self, files: Sequence[tuple[str, str]], budget: int) -> list[int]:
        """Return the tokens of as many of the last files as fit, each with its name."""
        tokenize, mark = self._vocab.tokenize_inside, self._marks.get("file")
        fitting: list[int] = []
        for name, text in reversed(files):
            start = tokenize("\n\n") if mark is None else [mark, *tokenize(f"{name}\n")]
            tokens = [*start, *tokenize(text)]
            if len(fitting) + len(tokens) > budget:
                break
            fitting = tokens + fitting
        return fitting
