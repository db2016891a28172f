"""The draft sources, by name: the one table of what each of them is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DraftSource:
    """What a user may name as a source of proposals."""

    name: str
    computes: bool = False  # whether it is a model: a draft, or heads of the target
    usual: bool = True  # False: for the tables of the papers alone


ALL = (
    DraftSource("suffix"),
    DraftSource("tail"),
    DraftSource("ngram"),
    DraftSource("model", computes=True),
    DraftSource("heads", computes=True),
    DraftSource("bigram", usual=False),
    DraftSource("unigram", usual=False),
    DraftSource("random", usual=False),
)
"""In the order in which they are asked when nothing is known of them."""
SOURCES = tuple(source.name for source in ALL)
USUAL_SOURCES = tuple(source.name for source in ALL if source.usual)
COMPUTING = frozenset(source.name for source in ALL if source.computes)
"""Those that need a draft model, or a target with heads."""
COPYING = frozenset(SOURCES) - COMPUTING
"""Those that need neither."""
