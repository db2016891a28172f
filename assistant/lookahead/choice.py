"""A decision how many tokens to propose."""

from typing import NamedTuple


class Choice(NamedTuple):
    """A lookahead, and the reason for it as a clause."""

    k: int
    reason: str
