"""The conversation itself as a draft source: what followed the last time that it read like this."""

from collections.abc import Sequence

from assistant.decoding.sources.copying import Copying
from assistant.decoding.sources.draft import Run
from assistant.decoding.sources.suffix_automaton import Automaton, SuffixMatch

SHORTEST = 2  # tokens in common, to speak of a repetition
UNMISTAKABLE = 8  # tokens in common, for the latest of several ways to go on to be worth a try
EDGES = (SHORTEST, 3, 4, 5, 7, 10, 16, 32)  # of the classes of evidence, in tokens in common


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
            behind = match.end - len(tokens)
            run.append(tokens[match.end] if behind < 0 else run[behind])
            evidence.append(strength(match))
            match = automaton.follow(match, run[-1])
        return Run(self.name, tuple(run), tuple(evidence)) if run else None


def is_telling(match: SuffixMatch) -> bool:
    """Say whether what followed a match tells anything about what follows now."""
    return match.length >= (SHORTEST if match.followers < 2 else UNMISTAKABLE)


def strength(match: SuffixMatch) -> int:
    """Return the class of a match: 0 where different tokens followed it, else by its length."""
    return sum(match.length >= edge for edge in EDGES) if match.followers < 2 else 0
