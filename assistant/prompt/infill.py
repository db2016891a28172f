"""The prompt of a gap in a text: the text around it, between the marks that a model knows."""

from collections.abc import Sequence
from math import ceil

from assistant.request import Infill
from models.base import common_prefix_length
from models.errors import UsageError
from models.native.vocab import Vocab

NO_MARKS = (
    "This model has no tokens for a gap in a text, so it cannot complete between two texts; "
    "qwen2.5-coder-1.5b can."
)
NEAR, FAR, ALONE = 24, 240, 64
"""How many tokens of a suffix stand after the prefix, and as a file before it; or without a file.

In 44 gaps Qwen2.5-Coder 1.5B gave the line that had stood there a log probability of -0.79 a token
with these, -0.81 with 16 and 240, or with 510 after the prefix, and -0.95 with 40 after it; it
wrote that line itself in 13, 9, 16 and 12 of them. A whole suffix before the prefix did far worse.
"""
MOST_TYPED = 64  # tokens of an answer that may be typed before its gap begins again
BEFORE_PREDICTION = 64  # tokens of the prefix that are repeated there: a long match is trusted
STEPS = 4  # a prefix that is too long is cut by these parts of it, so that the caches stay valid


class InfillPrompts:
    """Tokenise gaps for one model.

    Each part is tokenised by itself, so that no token spans the gap, and nothing in it becomes a
    control token. A far part of the suffix stands before the prefix, like a file, and stays cached.
    It stays the same while the user types and the cursor moves: after another one, the whole prefix
    would be evaluated again.
    """

    def __init__(self, vocab: Vocab) -> None:
        self._vocab = vocab
        self._far = ""  # the part of the suffix before the prefix; empty if there is none
        self._last_prefix: list[int] = []

    def prompt(
        self, prefix: str, infill: Infill, budget: int, prediction: str
    ) -> tuple[list[int], list[int]]:
        """Return a prompt of at most `budget` tokens, and the tokens that its answer may copy.

        The prompt has as much of the text around the gap as fits; if a part of the suffix is before
        the prefix, at most `NEAR` tokens follow it. The other tokens end with the prefix, which the
        answer continues, and have the `prediction` of it. A `UsageError` says that the model has no
        marks for a gap.
        """
        marks, tokenize = self._vocab.infill_marks, self._vocab.tokenize_inside
        if not {"prefix", "suffix"} <= marks.keys():
            raise UsageError(NO_MARKS)
        budget -= len(marks) + 1 + MOST_TYPED
        before, after, predicted = map(tokenize, (prefix, infill.suffix, prediction))
        near = longest_near = min(ALONE, budget // 4)
        far = list[int]()
        if "file" in marks and (prefix or infill.suffix):
            if self._update_far(before, infill.suffix, after[NEAR : NEAR + min(FAR, budget // 4)]):
                near = min(longest_near, NEAR)
            far = self._file_tokens([("rest", self._far)] if self._far else [], budget // 2)
        prefix_budget = budget - longest_near - len(far)  # wherever the cursor is
        step = max(1, prefix_budget // STEPS)
        steps = ceil(max(0, len(before) - prefix_budget) / step)
        before = before[steps * step :]
        files = self._file_tokens(infill.files, prefix_budget - len(before)) + far
        written = [*before, *infill.typed]
        repeated = written[-BEFORE_PREDICTION:] if predicted else []
        context = [*files, *after, *repeated, *predicted, *written]
        return [*self._assembled(files, before, after[:near]), *infill.typed], context

    def _update_far(self, prefix: list[int], suffix: str, part: list[int]) -> bool:
        """Replace the far part once it no longer follows; return whether it follows closely.

        It is not replaced while most of the prefix is cached.
        """

        def follows() -> bool:
            return bool(self._far) and 0 <= suffix.find(self._far) <= len(self._far)

        if not follows() and common_prefix_length(self._last_prefix, prefix) * 2 <= len(prefix):
            text = b"".join(map(self._vocab.piece, part)).decode("utf-8", "ignore")
            self._far = text.partition("\n")[2]  # whole lines
        self._last_prefix = prefix
        return follows()

    def _assembled(self, files: list[int], prefix: list[int], suffix: list[int]) -> list[int]:
        """Return the whole prompt. A model without a mark for the middle reads the suffix first."""
        marks, bos = self._vocab.infill_marks, self._vocab.bos
        start = [] if bos is None else [bos]
        after, before = [marks["suffix"], *suffix], [marks["prefix"], *prefix]
        around = [*before, *after, marks["middle"]] if "middle" in marks else after + before
        return [*start, *files, *around]

    def _file_tokens(self, files: Sequence[tuple[str, str]], budget: int) -> list[int]:
        """Return the tokens of as many of the last files as fit, each with its name."""
        tokenize, mark = self._vocab.tokenize_inside, self._vocab.infill_marks.get("file")
        fitting: list[int] = []
        for name, text in reversed(files):
            start = tokenize("\n\n") if mark is None else [mark, *tokenize(f"{name}\n")]
            tokens = [*start, *tokenize(text)]
            if len(fitting) + len(tokens) > budget:
                break
            fitting = tokens + fitting
        return fitting
