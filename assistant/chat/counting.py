"""How many tokens a text has, without reading megabytes to the end."""

from collections.abc import Callable

SLICE = 1 << 14
"""Characters that are tokenised at a time: some milliseconds."""

LONGEST_TOKEN = 256
"""More characters than any vocabulary puts into a token; 128 spaces are the most that are known."""

Tokenize = Callable[[str], list[int]]


def count(text: str, tokenize: Tokenize, enough: int) -> int:
    """Return how many tokens a text has.

    Once there are more than `enough` of them, the rest is estimated by its length: it does not
    matter any more, and a tokeniser takes seconds for megabytes.
    """
    if len(text) > SLICE:
        tokens, must_exceed = 0, len(text) > LONGEST_TOKEN * enough
        for end in range(SLICE, len(text) + SLICE, SLICE):
            tokens += len(tokenize(text[end - SLICE : end]))
            if tokens > enough or must_exceed:
                return tokens * len(text) // min(end, len(text))
    return len(tokenize(text))
