"""Draft sources that copy from the conversation, and from rejected drafts."""

from bisect import bisect
from collections.abc import Sequence
from typing import NamedTuple

from assistant.decoding.sources.draft import Proposal, Run, Source

SHORTEST = 2  # length from which a match counts as a repetition
UNMISTAKABLE = 8  # length from which a match counts although different tokens have followed it
EDGES = (SHORTEST, 3, 4, 5, 7, 10, 16, 32)  # of the buckets, in tokens of the match
DEPTH = 16  # how many suffixes, ever shorter, are updated when they occur again
MAX_TRIED = 64  # and how many are tried to extend a match


class SuffixMatch(NamedTuple):
    """A suffix of some tokens that occurs in the text."""

    state: int
    length: int
    end: int  # the index after one of its occurrences, usually the latest
    followers: int  # how many different tokens have come after it


NO_MATCH = SuffixMatch(0, 0, 0, 0)


class Automaton:
    """A growing text, and where its substrings have occurred before.

    Blumer et al. 1985, "The smallest automaton recognizing the subwords of a text". A state stands
    for the substrings that end at the same positions. They are suffixes of one another, so a state
    stores the longest one, and links to the state of the longest that also ends elsewhere. A text
    of n tokens has at most 2n states; appending a token takes amortised constant time.
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
        new = self._add_state({}, end, end)
        suffix = self._last
        while suffix >= 0 and token not in self._next[suffix]:
            self._next[suffix][token] = new
            suffix = self._link[suffix]
        state = self._link[new] = 0 if suffix < 0 else self._split_off(suffix, token)
        self._last = new
        self.match = self._match(state, self._longest[state])
        # All suffixes end here, but a text like "aaaa" has too many of them.
        for _ in range(DEPTH):
            if not state:
                break
            self._end[state] = end
            state = self._link[state]

    def follow(self, match: SuffixMatch, token: int) -> SuffixMatch:
        """Return the longest suffix of a match and `token` after it that occurs in the text.

        In a text that repeats itself endlessly, much shorter ones are not searched for.
        """
        state, length = match.state, match.length
        for _ in range(MAX_TRIED):
            if (following := self._next[state].get(token)) is not None:
                return self._match(following, length + 1)
            if not state:
                break
            state = self._link[state]
            length = self._longest[state]
        return NO_MATCH

    def _match(self, state: int, length: int) -> SuffixMatch:
        return SuffixMatch(state, length, self._end[state], len(self._next[state]))

    def _split_off(self, suffix: int, token: int) -> int:
        """Return the state whose longest substring is that of `suffix`, and then `token`."""
        state = self._next[suffix][token]
        length = self._longest[suffix] + 1
        if self._longest[state] == length:
            return state
        clone = self._add_state(self._next[state].copy(), length, self._end[state])
        self._link[clone] = self._link[state]
        self._link[state] = clone
        while suffix >= 0 and self._next[suffix].get(token) == state:
            self._next[suffix][token] = clone
            suffix = self._link[suffix]
        return clone

    def _add_state(self, following: dict[int, int], longest: int, end: int) -> int:
        self._next.append(following)
        self._link.append(0)
        self._longest.append(longest)
        self._end.append(end)
        return len(self._longest) - 1


class SuffixSource(Source):
    """Copy what followed the latest occurrence of the longest suffix that has occurred before.

    Prompt, history, attached files and the answer so far are one text. Hu et al. 2024, "SAM
    Decoding: Speculative Decoding via Suffix Automaton"; Saxena 2023, "Prompt Lookup Decoding".

    A prompt with a gap ends with the text after it, or with a mark. So `context`, which ends with
    the text before the gap, replaces the first `start` tokens: the answer continues that.
    """

    name = "suffix"

    def __init__(self, context: Sequence[int] = (), start: int = 0) -> None:
        self._automaton, self._context, self._start = Automaton(), context, start

    def read(self, tokens: Sequence[int]) -> None:
        """Add what is new to the text; another text replaces it."""
        known, tokens = self._automaton.text, self._continued(tokens)
        if tokens[: len(known)] != known:
            self._automaton = Automaton()
        for token in tokens[len(self._automaton.text) :]:
            self._automaton.append(token)

    def offer(self, tokens: Sequence[int], budget: int) -> Run | None:
        """Offer up to `budget` tokens. A repetition that reaches the end is continued."""
        automaton, tokens = self._automaton, self._continued(tokens)
        match = automaton.match
        for token in tokens[len(automaton.text) :]:
            match = automaton.follow(match, token)
        run: list[int] = []
        buckets: list[int] = []
        while len(run) < budget and is_reliable(match):
            beyond = match.end - len(tokens)
            run.append(tokens[match.end] if beyond < 0 else run[beyond])
            buckets.append(match_bucket(match))
            match = automaton.follow(match, run[-1])
        return Run(self.name, tuple(run), tuple(buckets)) if run else None

    def _continued(self, tokens: Sequence[int]) -> list[int]:
        return [*self._context, *tokens[self._start :]]


def is_reliable(match: SuffixMatch) -> bool:
    """Return whether a match is long enough to predict what follows."""
    return match.length >= (SHORTEST if match.followers < 2 else UNMISTAKABLE)


def match_bucket(match: SuffixMatch) -> int:
    """Return the bucket of a match: 0 where different tokens followed it, else by its length."""
    return bisect(EDGES, match.length) if match.followers < 2 else 0


class TailSource(Source):
    """Copy what was proposed after a rejected token.

    A draft that contains a tail has no tail itself: drafts that were wrong twice are rarely right.
    """

    name = "tail"

    def __init__(self) -> None:
        self._start = 0
        self._draft: list[int] = []  # the context and the proposals after it

    def remember(self, tokens: Sequence[int], proposals: Sequence[Proposal]) -> None:
        """Remember the proposals after `tokens`, if there are any."""
        if proposals:
            has_tail = any(proposal.source == self.name for proposal in proposals)
            self._start = len(tokens)
            self._draft = [] if has_tail else [*tokens, *(proposal.token for proposal in proposals)]

    def offer(self, tokens: Sequence[int], budget: int) -> Run | None:
        """Offer the rest of the draft, if exactly one of its tokens was replaced."""
        pairs = zip(tokens[self._start :], self._draft[self._start :], strict=False)
        is_right = [token == proposed for token, proposed in pairs]
        rest = self._draft[len(tokens) :][:budget]
        if is_right.count(False) != 1 or not rest:
            return None
        before = is_right.index(False)
        after = len(is_right) - before - 1
        buckets = (tail_bucket(before, after + i) for i in range(len(rest)))
        return Run(self.name, tuple(rest), tuple(buckets))


def tail_bucket(before: int, after: int) -> int:
    """Return the bucket, 0 to 9, by how many tokens were right before and after the wrong one."""
    return 2 * min(after, 4) + (before >= 2)
