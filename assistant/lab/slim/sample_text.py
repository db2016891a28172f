"""Text to learn from: questions to assistants, and text found on any machine."""

import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assistant.store import Store, place, present
from models.base import Vocab
from models.errors import UsageError
from models.native.library import WeightSettings
from models.native.weights import Weights

QUESTIONS = (
    "Write a Python function that returns the n-th Fibonacci number without recursion.",
    "Rename the variable x to total in this code, and return all of it:\n\n"
    "def add(values):\n    x = 0\n    for value in values:\n        x += value\n    return x",
    "What is the difference between a process and a thread?",
    "A train leaves at 9:40 and arrives at 13:05. How long is the journey? Explain each step.",
    "Summarise in two sentences: The council met on Tuesday to discuss the old bridge. Engineers "
    "had found cracks in two of its pillars. Repairs would take a year and close the road to the "
    "market, so the council decided to build a temporary crossing first.",
    "Write a short letter that thanks a neighbour for looking after the garden.",
)
"""A few of each kind: code, editing, facts, sums, summaries, prose."""
MAX_FILE_CHARACTERS = 20_000
MAX_CHARACTERS = 1_600_000
MAX_CHATS = 1000


def written_everywhere() -> Iterator[str]:
    """Yield parts of what comes with Python: its sources, and its language reference as prose."""
    prose = "\n".join(_language_reference().values())
    yield from (
        prose[at : at + MAX_FILE_CHARACTERS]
        for at in range(0, min(len(prose), MAX_CHARACTERS // 2), MAX_FILE_CHARACTERS)
    )
    left = MAX_CHARACTERS // 2
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text = path.read_text("utf-8", "replace")[: min(MAX_FILE_CHARACTERS, max(0, left))]
        left -= len(text)
        yield text


def _language_reference() -> Mapping[str, str]:
    try:
        from pydoc_data.topics import topics
    except ImportError:  # some distributions leave it out
        return {}
    return topics


def own_text(files: Iterable[Path], chats: bool) -> Iterator[str]:
    """Yield the text of files, and what a user and the models said to each other.

    Raises:
        UsageError: a file cannot be read.
        StorageError: the chats cannot.
    """
    for path in files:
        try:
            yield path.read_text("utf-8", "replace")[:MAX_CHARACTERS]
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    if chats and present(place()):
        with closing(Store(place())) as store:
            for conversation in store.summaries(limit=MAX_CHATS):
                yield "\n".join(each.content for each in store.path(conversation.id))[
                    :MAX_CHARACTERS
                ]


OWN_WEIGHT = 10
"""How many times a user's own text counts: it tells best what will be written again."""


def counted(path: Path, own: Iterable[str]) -> npt.NDArray[np.int64]:
    """Return how often each token of a model's vocabulary is used, here and by everybody."""
    weights = Weights(path, WeightSettings(vocab_only=True))
    try:
        return counts(weights.vocab, weights.vocab.size, written_everywhere(), own)
    finally:
        weights.close()


def counts(
    vocab: Vocab, size: int, common: Iterable[str], own: Iterable[str] = ()
) -> npt.NDArray[np.int64]:
    """Return how often each of `size` tokens is used in `common` text and in the user's own."""
    total = np.zeros(size, np.int64)
    for weight, texts in ((1, common), (OWN_WEIGHT, own)):
        for text in texts:
            total += weight * np.bincount(vocab.tokenize(text), minlength=size)
    return total
