"""A draft source that was noted down: what it would have proposed along an answer."""

from collections.abc import Sequence

from assistant.decoding.draw import Uniforms
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.row import Row
from assistant.decoding.sources.draft import Rows
from assistant.decoding.sources.model import WINDOW, Reading, anew
from assistant.decoding.warp import Warp, one_hot
from assistant.lab.bench.events import Judged, Profile
from assistant.lab.bench.simulated_machines import Machine
from models.prefix import shared

WRONG = -1
"""A proposed token that is not the one that came."""


class Logged:
    """A source whose rows are those of a profile.

    Its proposal at a place is the token that came, with the probability of acceptance that was
    noted there, and else a wrong one. What it would have said behind a wrong token nobody knows:
    that is wrong as well, so a tail of it is never of use.
    """

    def __init__(
        self, name: str, judged: Judged, profile: Profile, machine: Machine, rng: Uniforms
    ) -> None:
        self.name = name
        self.seconds = 0.0
        """What its rows have taken so far."""
        self._judged, self._profile, self._rng = judged, profile, rng
        self._costs = Costs(machine.verify, machine.draft) if name == "model" else None
        self._seen: Sequence[int] = ()
        self._context = 0  # how many of them it has read

    def odds(self, place: int) -> float:
        """Return how likely a proposal at a place is accepted; below 0 there is none."""
        return self._judged.overlaps[place - self._profile.start]

    def unread(self, tokens: Sequence[int]) -> int:
        """Return how many tokens a model would have to read before it gave a row."""
        return max(1, min(WINDOW, len(tokens) - shared(self._seen, tokens)))

    def ways(self, tokens: Sequence[int]) -> list[Reading]:
        """Return the ways to read them; see `ModelSource.ways`."""
        on = Reading(self._context + self.unread(tokens), self.unread(tokens))
        return [on, *anew(min(len(tokens), WINDOW))]

    def catch_up(self, tokens: Sequence[int], reading: Reading | None = None) -> float:
        """Read `tokens` without giving a row; return how long that takes."""
        context, unread = reading or self.ways(tokens)[0]
        seconds = self._costs.draft(unread) if self._costs else 0.0
        self._seen, self._context = list(tokens), context
        self.seconds += seconds
        return seconds

    def read(self, tokens: Sequence[int]) -> None:
        """Do nothing: the profile has it all."""

    def offer(self, tokens: Sequence[int], room: int) -> Rows | None:
        """Offer a row where the profile has one."""
        if len(tokens) >= len(self._profile.tokens) or self.odds(len(tokens)) < 0:
            return None
        return Rows(self.name, self.unread(tokens) if self._costs else 1)

    def row(self, tokens: Sequence[int], warp: Warp) -> tuple[Row, int]:
        """Return the one-hot row of what is proposed, and its evidence."""
        place, start = len(tokens), self._profile.start
        self.catch_up(tokens)
        is_right = list(tokens[start:]) == [*self._profile.tokens[start:place]]
        comes = is_right and self._rng.random() < self.odds(place)
        token = self._profile.tokens[place] if comes else WRONG
        return one_hot(token), self._judged.evidence[place - self._profile.start]
