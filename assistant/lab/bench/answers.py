"""Measured answers, as the file of a run has them, and their sums."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from assistant.stats import Stats

ALL = "all"  # stands for a kind: questions of all kinds together
QuestionKey = tuple[str, str]  # the kind and the name of a question


@dataclass(frozen=True, slots=True)
class Measured:
    """An answer, and where its time went."""

    text: str
    stop: str
    stats: Stats
    pace: Mapping[int, float] = field(default_factory=dict)
    """Seconds of decoding by tokens, after each round."""
    steps_s: float = 0.0
    """Seconds of the draft's steps, as the papers mean them: without its reading of the prompt."""

    def seconds_to(self, tokens: int) -> float:
        """Return how long decoding took up to so many tokens; those of a round come evenly."""
        before, before_s = 0, 0.0
        for count, seconds in self.pace.items():
            if count >= tokens:
                return before_s + (seconds - before_s) * (tokens - before) / (count - before)
            before, before_s = count, seconds
        return before_s


@dataclass(frozen=True, slots=True)
class Compared:
    """The outcomes of trials in lockstep, in their order; a text says why one failed."""

    outcomes: tuple[Measured | str, ...]  # empty: of a trial in another process

    def join(self, others: "Iterable[Compared]") -> "Compared":
        """Return the outcomes of all trials, from those of each process."""
        columns = zip(self.outcomes, *(other.outcomes for other in others), strict=True)
        return Compared(tuple(next(filter(None, column)) for column in columns))


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """An answer of one system to one question."""

    question: str
    kind: str
    system: str
    outcome: Measured | str  # a text says why it failed


@dataclass(frozen=True, slots=True)
class Totals:
    """Answers of one system, to one question or to several, added up."""

    answers: tuple[Measured, ...]

    @property
    def stats(self) -> Stats:
        """Their figures."""
        return reduce(Stats.plus, (answer.stats for answer in self.answers))

    @property
    def steps_s(self) -> float:
        """Seconds of the draft's steps."""
        return sum(answer.steps_s for answer in self.answers)

    def speedup(self, reference: "Totals") -> float:
        """Return how many times as fast these are as another system's answers to the same question.

        They are compared up to the last token that both have: in lockstep, each token of one came
        within a second or so of the same token of the other. The rest of a longer answer came when
        the machine may have been faster or slower.
        """
        own_s = reference_s = 0.0
        for ours, theirs in zip(self.answers, reference.answers, strict=False):
            tokens = min(ours.stats.generated_tokens, theirs.stats.generated_tokens)
            own_s += ours.seconds_to(tokens)
            reference_s += theirs.seconds_to(tokens)
        return reference_s / own_s


def sums(answers: Iterable[RunAnswer], system: str, kind: str = ALL) -> dict[QuestionKey, Totals]:
    """Return a system's answers to questions of a kind; those that failed are left out."""
    by_question: dict[QuestionKey, list[Measured]] = {}
    for answer in answers:
        is_asked, outcome = answer.system == system and kind in (answer.kind, ALL), answer.outcome
        if is_asked and isinstance(outcome, Measured) and outcome.stats.decode_s:
            by_question.setdefault((answer.kind, answer.question), []).append(outcome)
    return {key: Totals(tuple(measured)) for key, measured in by_question.items()}


def together(totals: Iterable[Totals]) -> Totals:
    """Return the answers to several questions as one."""
    return Totals(tuple(answer for total in totals for answer in total.answers))


def match_answers(
    answers: Sequence[RunAnswer], system: str, reference: str, kind: str = ALL
) -> dict[QuestionKey, tuple[Totals, Totals]]:
    """Return two systems' answers to the questions of a kind that both have answered."""
    own, other = sums(answers, system, kind), sums(answers, reference, kind)
    return {key: (own[key], other[key]) for key in own if key in other}


def kinds(answers: Iterable[RunAnswer]) -> list[str]:
    """Return the kinds of questions, in the order in which they came."""
    return list(dict.fromkeys(answer.kind for answer in answers))
