"""The draft sources, by name: the one table of what each of them is."""

SOURCES = ("suffix", "tail", "ngram", "model", "heads")
"""Those of a chat, in the order in which they are asked when nothing is known of them."""
BASELINES = ("bigram", "unigram", "random")
"""Those that the papers compare with; only the bench has them."""
COMPUTING = frozenset({"model", "heads"})
"""Those that need a draft model, or a target with heads."""
COPYING = frozenset({*SOURCES, *BASELINES}) - COMPUTING
"""Those that need neither."""
