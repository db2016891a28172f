"""Replay answers on a hypothetical machine: its cost curve, any lookahead, real planning.

What is replayed is a profile: an answer, and what each source would have proposed at each of its
places. Copying sources are run again on its tokens, those that make rows are taken from the
profile, and the rounds are the same code that decodes. Only the models are missing, and with them
the time, which the machine's curve tells instead.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import numpy as np

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.cost_curve import is_curve
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.policy import Control, Policy
from assistant.decoding.row import Row
from assistant.decoding.rules.rule import Verdict
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Draft, Source
from assistant.decoding.sources.suffix import SuffixSource
from assistant.decoding.sources.tail import TailSource
from assistant.decoding.warp import EMPTY, one_hot
from assistant.engine.decoding_sequence import DecodingSequence
from assistant.engine.rounds import Rounds, SequenceRound
from assistant.events import Stats, Stop
from assistant.lab.bench.events import Profile
from assistant.lab.bench.source_profile import LoggedModel, LoggedSource, ReplayedModel
from assistant.lab.bench.systems import System
from models.errors import UsageError


@dataclass(frozen=True, slots=True)
class Machine:
    """What evaluations of a pair cost."""

    verify: Mapping[int, float]  # seconds of the target by width
    draft: Mapping[int, float] = field(default_factory=dict)  # by tokens read; empty: there is none
    host_s: float = 0.0  # seconds of everything else, each round

    def scaled(self, factor: float) -> "Machine":
        """Return a machine on which everything takes `factor` times as long."""
        verify, draft = (
            {n: factor * seconds for n, seconds in times.items()}
            for times in (self.verify, self.draft)
        )
        return Machine(verify, draft, factor * self.host_s)


_DRAFT = {1: 0.0225, 2: 0.041, 3: 0.062, 4: 0.061, 8: 0.111}  # 0.5B Q4_K_M
PRESETS = {
    "2-core-q4": Machine(  # two Xeon cores, a target of 1.5B: every place in the batch costs
        {1: 0.044, 2: 0.075, 3: 0.107, 4: 0.118, 5: 0.152, 8: 0.292, 16: 0.383, 32: 0.699},
        _DRAFT,
    ),
    "2-core-f16": Machine(  # with 16-bit weights: reading them takes most of the time
        {1: 0.097, 2: 0.107, 3: 0.119, 4: 0.149, 5: 0.161, 8: 0.215, 16: 0.372, 32: 0.685},
        _DRAFT,
    ),
    "flat-gpu": Machine(  # no real card: t(n) hardly grows, a draft step is a tenth
        {1: 0.020, 4: 0.0205, 8: 0.021, 16: 0.022, 32: 0.025},
        {1: 0.002, 8: 0.002, 64: 0.003, 512: 0.010},
        0.001,
    ),
}


def machine(name: str) -> Machine:
    """Return a preset, or the machine in a JSON file with `verify`, `draft` and `host_s`.

    Raises:
        UsageError: it is neither.
    """
    if name in PRESETS:
        return PRESETS[name]
    try:
        found = msgspec.json.decode(Path(name).read_bytes(), type=Machine)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{name} is neither one of {', '.join(PRESETS)} nor a JSON file like "
            f'{{"verify": {{"1": 0.044, "4": 0.118}}, "draft": {{"1": 0.02}}}}: {error}.'
        ) from error
    curves = [found.verify, *([found.draft] if found.draft else [])]
    if not all(map(is_curve, curves)) or found.host_s < 0:
        raise UsageError(f"{name}: verify and draft need seconds by width, including width 1.")
    return found


COPYING = ("suffix", "tail")
"""Sources that need no profile: the tokens tell what they propose."""


class Simulator:
    """One system on one machine, answering profile after profile and keeping what it learns."""

    def __init__(self, system: System, machine: Machine, sources: Sequence[str]) -> None:
        self._machine, self._sources = machine, system.sources or sources
        self._costs = Costs(machine.verify, machine.draft)
        controller = Controller(Costs(machine.verify, machine.draft))
        self._policy = Policy(Control(system.mode, system.lookahead), controller)
        self._rng = np.random.default_rng(0)

    def replay(self, profile: Profile) -> Stats:
        """Return what the answer of a profile comes to."""
        tokens = list(profile.tokens[: profile.start])
        target = ReplayedModel(self._evaluation, tokens[:-1])
        draft = ReplayedModel(self._costs.draft)
        logged = {
            name: LoggedSource(name, profile.sources[name], profile, self._rng)
            for name in self._sources
            if name in profile.sources and name not in COPYING
        }

        def clock() -> float:
            return target.busy_s + draft.busy_s

        answer = ReplayedAnswer(len(profile.tokens) - profile.start)
        drafter = Cascade(*self._ordered(logged, draft), clock=clock)
        rule = ReplayedRule(profile, logged)
        sequence = DecodingSequence(0, tokens, answer, drafter, rule)
        for step in Rounds(target, [sequence], self._policy, lambda *_: EMPTY, clock):
            if isinstance(step, SequenceRound):
                answer.add(step, clock())
        return answer.stats

    def _evaluation(self, width: int) -> float:
        return self._costs.evaluation(width) + self._machine.host_s

    def _ordered(self, logged: Mapping[str, LoggedSource], draft: ReplayedModel) -> list[Source]:
        """Return the sources in the order in which they are asked; stored chats are left out."""
        known: dict[str, Source] = {"suffix": SuffixSource(), "tail": TailSource(), **logged}
        if "model" in logged:
            known["model"] = LoggedModel(draft, logged["model"])
        return [known[name] for name in self._sources if name in known]


class ReplayedAnswer:
    """An answer of so many tokens."""

    def __init__(self, tokens: int) -> None:
        self.stop: Stop | None = None
        self.stats = Stats("replayed")
        self._tokens = tokens

    @property
    def tokens_left(self) -> int:
        """How many tokens are to come."""
        return self._tokens - self.stats.generated_tokens

    def add(self, step: SequenceRound, seconds: float) -> None:
        """Take a round, and how long all have taken."""
        stats, round_ = self.stats, step.round
        self.stats = replace(
            stats,
            rounds=stats.rounds + 1,
            tested=stats.tested + round_.tested,
            accepted=stats.accepted + round_.accepted,
            generated_tokens=stats.generated_tokens + len(round_.tokens),
            decode_s=seconds,
        )
        self.stop = None if self.tokens_left else Stop.LENGTH


class ReplayedRule:
    """Accept what matches the profile, and replace the rest with what came there."""

    def __init__(self, profile: Profile, logged: Mapping[str, LoggedSource]) -> None:
        self._profile, self._logged = profile, logged

    def draw(self, row: Row, position: int) -> int:
        """Return the only token of a row."""
        return int(row.ids[0])

    def verify(self, draft: Draft, target_rows: Iterable[Row], position: int) -> Verdict:
        """Accept the beginning that came."""
        coming = self._profile.tokens[position:]
        right = [token == came for token, came in zip(draft.tokens, coming, strict=False)]
        accepted = [*right, False].index(False)
        rows = tuple(self._row(draft, i, position + i) for i in range(accepted + 1))
        untested = (None,) * min(accepted + 1, len(right))
        return Verdict(accepted, one_hot(coming[accepted]), rows, untested)

    def _row(self, draft: Draft, i: int, place: int) -> Row:
        """Return a row of the target whose overlap with the proposal's is what was noted."""
        # Profiles of earlier versions do not tell how sure the target was.
        margins = self._profile.margins
        margin = margins[place - self._profile.start] if margins else None
        proposal = draft.proposals[i] if i < len(draft.proposals) else None
        if proposal and proposal.source in self._logged:
            odds = self._logged[proposal.source].odds(place)
            return Row(proposal.row.ids, np.array([odds]), margin)
        return replace(one_hot(self._profile.tokens[place]), margin=margin)
