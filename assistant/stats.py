"""The figures of an answer: plain frozen values that can be sent to another process."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest

TOKEN_FIELDS = ("id", "text", "origin", "source", "target_prob", "draft_prob")
STATS_FIELDS = (
    "mode", "rounds", "drafted", "tested", "accepted", "acceptance_rate", "tokens_per_eval",
    "prompt_tokens", "cached_tokens", "generated_tokens", "prefill_s", "first_token_s", "decode_s",
    "tokens_per_s", "lookahead_counts",
)  # fmt: skip
"""The fields of tokens and answers that other programs may rely on."""
_SUMMED = (
    "rounds", "drafted", "tested", "accepted", "generated_tokens", "masked_rows", "thought_tokens",
    "prefill_s", "decode_s", "draft_s", "verify_s", "guessing_s", "mask_s", "thought_s",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tally:
    """How many proposals met the accept test, and how many passed it."""

    tested: int = 0
    accepted: int = 0

    @property
    def rate(self) -> float | None:
        """Accepted over tested; None when nothing was tested."""
        return self.accepted / self.tested if self.tested else None

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.tested + other.tested, self.accepted + other.accepted)


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts and times of one answer; the rates derive from them."""

    mode: str
    rounds: int = 0
    drafted: int = 0
    tested: int = 0  # accepted proposals, and the first rejected one of each round
    accepted: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0  # prompt tokens that needed no evaluation
    generated_tokens: int = 0  # the stop token counts: it was decoded
    prefill_s: float = 0.0
    first_token_s: float = 0.0  # from the request to the first token
    decode_s: float = 0.0  # from the end of the target's prefill to the last token
    lookahead_counts: Mapping[int, int] = field(default_factory=dict)  # rounds by tokens proposed
    draft_s: float = 0.0  # of decode_s, in the draft model, the prompt that it reads included
    verify_s: float = 0.0  # of decode_s, in the target
    guessing_s: float = 0.0  # of decode_s, in rounds that proposed, and what guesses took of others
    positions: tuple[Tally, ...] = ()  # by position in the round
    sources: Mapping[str, Tally] = field(default_factory=dict)  # by draft source
    draft: str | None = None  # the draft model's name, if one was loaded
    engine: str | None = None  # which library computed
    masked_rows: int = 0  # rows that a constraint masked
    mask_s: float = 0.0  # of decode_s, in computing masks
    thought_tokens: int = 0  # of generated_tokens, up to the end of the thought
    thought_s: float = 0.0  # of decode_s

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted over tested; None when nothing was tested."""
        return Tally(self.tested, self.accepted).rate

    @property
    def tokens_per_eval(self) -> float:
        """Generated tokens over target evaluations."""
        return self.generated_tokens / self.rounds if self.rounds else 0.0

    @property
    def host_s(self) -> float:
        """Return the rest of decode_s: warping, verifying, text."""
        return max(0.0, self.decode_s - self.draft_s - self.verify_s)

    @property
    def tokens_per_s(self) -> float:
        """Generated tokens over decoding time."""
        return self.generated_tokens / self.decode_s if self.decode_s else 0.0

    def plus(self, more: "Stats") -> "Stats":
        """Return the sum of the figures of two answers, or of two parts of one.

        Fields without a sum are those of the first, except the mode.
        """
        pairs = zip_longest(self.positions, more.positions, fillvalue=Tally())
        names = dict.fromkeys((*self.sources, *more.sources))
        return replace(
            self,
            mode=more.mode,
            lookahead_counts=dict(Counter(self.lookahead_counts) + Counter(more.lookahead_counts)),
            positions=tuple(one + other for one, other in pairs),
            sources={
                name: self.sources.get(name, Tally()) + more.sources.get(name, Tally())
                for name in names
            },
            **{name: getattr(self, name) + getattr(more, name) for name in _SUMMED},
        )
