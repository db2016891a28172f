"""Replay answers on a machine that need not exist: its cost curve, any lookahead, real planning.

What is replayed is a profile: an answer, and what each source would have proposed at each of its
places. Copying sources are run again on its tokens, those that make rows are taken from the
profile; the plans are made by the very code that decodes. Only the models are missing, and with
them the time, which the machine's curve tells instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.lookahead.policy import Control, Fixed, Policy
from assistant.decoding.loops import Rejected, Round, Sampled
from assistant.decoding.row import Row
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Draft, Plan, Proposal, Source
from assistant.decoding.sources.suffix import SuffixSource
from assistant.decoding.sources.tail import TailSource
from assistant.decoding.warp import one_hot
from assistant.events import Origin
from assistant.lab.bench.events import Profile
from assistant.lab.bench.logged_source import Logged
from assistant.lab.bench.simulated_machines import Machine
from assistant.lab.bench.systems import System

MOST = 31  # proposals that one evaluation has room for


@dataclass(frozen=True, slots=True)
class SimulatedAnswer:
    """What an answer would have come to."""

    tokens: int
    seconds: float
    rounds: int
    tested: int
    accepted: int

    @property
    def tokens_per_s(self) -> float:
        """Tokens over decoding time."""
        return self.tokens / self.seconds

    @property
    def tokens_per_eval(self) -> float:
        """Tokens over target evaluations."""
        return self.tokens / self.rounds


class Simulator:
    """One system on one machine, answering profile after profile: what it learns it keeps."""

    def __init__(self, system: System, machine: Machine, sources: Sequence[str]) -> None:
        self._machine, self._sources = machine, system.sources or sources
        self._costs = Costs(machine.verify, machine.draft)
        self._controller = Controller(Costs(machine.verify, machine.draft))
        self._policy = Policy(Control(system.mode, system.lookahead), self._controller)
        self._rng = np.random.default_rng(0)

    def replay(self, profile: Profile) -> SimulatedAnswer:
        """Return what the answer of a profile takes."""
        self._controller.begin()
        logged = self._logged(profile)
        cascade = Cascade(*self._ordered(logged))
        tokens, end = list(profile.tokens[: profile.start]), len(profile.tokens)
        rounds = tested = accepted = 0
        seconds = 0.0
        while len(tokens) < end:
            begins = len(tokens) == profile.start  # the first token does not wait for a draft
            if not begins:
                seconds += self._prefill(logged.get("model"), tokens, end)
            plan = Fixed(0) if begins else self._plan(cascade, end - len(tokens) - 1)
            before = _total(logged)
            draft = cascade.propose(tokens, plan, _no_warp, _only)
            draft_s = _total(logged) - before
            round_ = _round(draft, profile, len(tokens), logged)
            verify_s = self._costs.verify(round_.proposed + 1) + self._machine.host_s
            self._controller.observe(round_, plan, verify_s + draft_s, draft_s)
            tokens += (token.id for token in round_.tokens)
            seconds += verify_s + draft_s
            rounds, tested = rounds + 1, tested + round_.tested
            accepted += round_.accepted
        return SimulatedAnswer(end - profile.start, seconds, rounds, tested, accepted)

    def _plan(self, cascade: Cascade, room: int) -> Plan:
        return self._policy.plan(min(room, MOST) if cascade.sources else 0)

    def _prefill(self, model: Logged | None, tokens: Sequence[int], end: int) -> float:
        """Have the draft model read what it lacks, if that is worth its time; see `Turn`."""
        reading = self._policy.reading(model.ways(tokens), end - len(tokens)) if model else None
        if model is None or reading is None:
            return 0.0
        seconds = model.catch_up(tokens[:-1], reading)
        if self._policy.is_free:
            self._controller.read(reading.unread, seconds)
        return seconds

    def _logged(self, profile: Profile) -> dict[str, Logged]:
        wanted = [name for name in self._sources if name in profile.sources]
        return {
            name: Logged(name, profile.sources[name], profile, self._machine, self._rng)
            for name in wanted
            if name not in ("suffix", "tail")
        }

    def _ordered(self, logged: Mapping[str, Logged]) -> list[Source]:
        """Return the sources in the order in which they are asked; stored chats are left out."""
        copying: dict[str, Source] = {"suffix": SuffixSource(), "tail": TailSource()}
        known = {**copying, **logged}
        return [known[name] for name in self._sources if name in known]


def _round(draft: Draft, profile: Profile, start: int, logged: Mapping[str, Logged]) -> Round:
    """Return the round that verification makes of a draft, as the answer went on."""
    coming = profile.tokens[start:]
    proposals = draft.proposals
    right = [each.token == token for each, token in zip(proposals, coming, strict=False)]
    accepted = right.index(False) if False in right else len(right)

    def row(i: int) -> Row:
        proposal = proposals[i] if i < len(proposals) else None
        return _target_row(proposal, start + i, profile, logged)

    tokens = [
        Sampled(coming[i], Origin.DRAFT, row(i), proposals[i].row, proposals[i])
        for i in range(accepted)
    ]
    if accepted < len(proposals):
        last = Sampled(
            coming[accepted], Origin.RESIDUAL, row(accepted), proposal=proposals[accepted]
        )
    else:
        last = Sampled(coming[accepted], Origin.TARGET, row(accepted))
    rejected = tuple(Rejected(each, None, None) for each in proposals[accepted:])
    return Round((*tokens, last), rejected)


def _target_row(
    proposal: Proposal | None, place: int, profile: Profile, logged: Mapping[str, Logged]
) -> Row:
    """Return a row of the target whose overlap with the proposal's is what was noted."""
    # Profiles of earlier versions do not tell how sure the target was.
    margin = profile.margins[place - profile.start] if profile.margins else None
    if proposal and proposal.source in logged:
        odds = logged[proposal.source].odds(place)
        return Row(proposal.row.ids, np.array([odds]), margin)
    return replace(one_hot(profile.tokens[place]), margin=margin)


def _total(logged: Mapping[str, Logged]) -> float:
    return sum(source.seconds for source in logged.values())


def _only(row: Row, place: int) -> int:
    return int(row.ids[0])


def _no_warp(logits: object, history: object) -> Row:
    raise AssertionError("the rows of a profile are warped")
