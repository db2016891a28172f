"""The conversation itself as a draft source: what followed the last similar passage."""

from collections.abc import Sequence
from typing import NamedTuple

from assistant.decoding.sources.draft import Copying, Run

SHORTEST = 2  # tokens in common, to speak of a repetition
UNMISTAKABLE = 8  # tokens in common, for the latest of several ways to go on to be worth a try
EDGES = (SHORTEST, 3, 4, 5, 7, 10, 16, 32)  # of the classes of evidence, in tokens in common
DEPTH = 16  # how many ever shorter suffixes get to know that they occurred again
MAX_TRIED = 64  # and how many are tried to continue from


class SuffixMatch(NamedTuple):
    """A stretch of the text that the tokens looked at end with."""

    state: int
    length: int
    end: int  # the place after one of its occurrences, as a rule the latest
    followers: int  # how many different tokens have come after it


NO_MATCH = SuffixMatch(0, 0, 0, 0)


class Automaton:
    """A text that grows: whether and where a stretch of it has occurred before.

    Blumer et al. 1985, "The smallest automaton recognizing the subwords of a text". A state stands
    for the stretches that end at the same places. They are suffixes of one another, so a state
    knows its longest one, and links to the state of the longest that also ends elsewhere. A text of
    n tokens has at most 2n states, and one more token costs the same whatever n is, on average.
    """

    def __init__(self) -> None:
        self.text: list[int] = []
        self.match = NO_MATCH
        """The longest suffix of the text that has occurred in it before."""
        self._next: list[dict[int, int]] = [{}]
        self._link = [-1]
        self._longest = [0]
        self._end = [0]
        self._last = 0

    def append(self, token: int) -> None:
        """Add a token to the text."""
        self.text.append(token)
        end = len(self.text)
        new = self._add({}, end, end)
        at = self._last
        while at >= 0 and token not in self._next[at]:
            self._next[at][token] = new
            at = self._link[at]
        state = self._link[new] = 0 if at < 0 else self._branch(at, token)
        self._last = new
        self.match = self._match(state, self._longest[state])
        # All suffixes end here, but in a text like "aaaa" there is no end to them.
        for _ in range(DEPTH):
            if not state:
                break
            self._end[state] = end
            state = self._link[state]

    def follow(self, match: SuffixMatch, token: int) -> SuffixMatch:
        """Return the longest suffix of a match and `token` after it that occurs in the text.

        In a text that repeats itself endlessly, one that is much shorter is not looked for.
        """
        state, length = match.state, match.length
        for _ in range(MAX_TRIED):
            if (found := self._next[state].get(token)) is not None:
                return self._match(found, length + 1)
            if not state:
                break
            state = self._link[state]
            length = self._longest[state]
        return NO_MATCH

    def _match(self, state: int, length: int) -> SuffixMatch:
        return SuffixMatch(state, length, self._end[state], len(self._next[state]))

    def _branch(self, at: int, token: int) -> int:
        """Return the state of the longest stretch of `at` and `token` after it, alone."""
        whole = self._next[at][token]
        length = self._longest[at] + 1
        if self._longest[whole] == length:
            return whole
        part = self._add(self._next[whole].copy(), length, self._end[whole])
        self._link[part] = self._link[whole]
        self._link[whole] = part
        while at >= 0 and self._next[at].get(token) == whole:
            self._next[at][token] = part
            at = self._link[at]
        return part

    def _add(self, following: dict[int, int], longest: int, end: int) -> int:
        self._next.append(following)
        self._link.append(0)
        self._longest.append(longest)
        self._end.append(end)
        return len(self._longest) - 1


class SuffixSource(Copying):
    """Copy what followed the latest occurrence of the longest suffix that has occurred before.

    Prompt, history, attached files and the answer so far are one text. Hu et al. 2024, "SAM
    Decoding: Speculative Decoding via Suffix Automaton"; Saxena 2023, "Prompt Lookup Decoding".
    """

    name = "suffix"

    def __init__(self) -> None:
        self._automaton = Automaton()

    def read(self, tokens: Sequence[int]) -> None:
        """Add what is new to the text; another text replaces it."""
        known = self._automaton.text
        if list(tokens[: len(known)]) != known:
            self._automaton = Automaton()
        for token in tokens[len(self._automaton.text) :]:
            self._automaton.append(token)

    def offer(self, tokens: Sequence[int], room: int) -> Run | None:
        """Offer up to `room` tokens. A repetition that reaches the end goes on repeating itself."""
        automaton = self._automaton
        match = automaton.match
        for token in tokens[len(automaton.text) :]:
            match = automaton.follow(match, token)
        run: list[int] = []
        evidence: list[int] = []
        while len(run) < room and is_telling(match):
            beyond = match.end - len(tokens)
            run.append(tokens[match.end] if beyond < 0 else run[beyond])
            evidence.append(strength(match))
            match = automaton.follow(match, run[-1])
        return Run(self.name, tuple(run), tuple(evidence)) if run else None


def is_telling(match: SuffixMatch) -> bool:
    """Say whether what followed a match tells anything about what follows now."""
    return match.length >= (SHORTEST if match.followers < 2 else UNMISTAKABLE)


def strength(match: SuffixMatch) -> int:
    """Return the class of a match: 0 where different tokens followed it, else by its length."""
    return sum(match.length >= edge for edge in EDGES) if match.followers < 2 else 0
