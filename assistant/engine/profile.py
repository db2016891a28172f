"""The profile of a pair on this machine: measured, saved, and refined while the engine is idle.

A machine changes from second to second, and a ratio hardly does: t(2) was 1.06 to 1.41 of a t(1)
from another second, and 1.17 to 1.29 of those before and after it, in the same time. A draft takes
turns with the target, as in a round: in a loop of its own it finds its weights in the caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from math import inf
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Literal, NamedTuple

from assistant.decoding.lookahead.acceptance import Acceptance
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.model import max_proposals
from assistant.engine.model_profile import ModelProfile
from models.files.disk import Records

if TYPE_CHECKING:
    from models.native.model import NativeModel

PROFILES = "profiles.json"
WIDTHS = (4, 2, 3, 8)
"""The target's widths that are measured first, the most informative first."""
WIDER = (16, 32)
"""Those of long copies and constraints: measured once, if nothing typical is known."""
DRAFT_WIDTHS = (2, 1, 8)
"""Tokens that a draft evaluates in a round: usually two before its first row, then one."""
DRAFT_PREFILL = 64  # tokens, for the speed of a longer prefill
NEEDED = (1, 4)
"""Tokens that are measured however long it takes: the draft's step, the slope of the target."""
MEASURING_S = 6.0
"""Seconds after which no further evaluation begins. Of ten measurements of two seconds, four had
all of t(2) to t(8) within 10 % of a minute's; of ten of six seconds, nine."""
DEEP = 1024  # tokens of context from which on attention takes enough time to matter
SHALLOW = 16  # tokens before those that are timed, where the cache is empty
SETTLED = 0.025  # the relative error of a ratio that needs no more samples
CLEAR = 0.1  # the one from which on the machine was too busy for figures that last


class Evaluation(NamedTuple):
    """A number of tokens to be timed, in the draft or the target."""

    profile: ModelProfile
    tokens: int

    @property
    def error(self) -> float:
        """The relative error of its estimate; infinite if there is none."""
        return self.profile.error(self.tokens)


class Profile:
    """The profile of a target, and of a draft beside it.

    What measures raises `Cancelled` if it is stopped, and `ModelError` if a model cannot evaluate.
    """

    def __init__(
        self,
        target: NativeModel,
        draft: str | None = None,  # the conditions of one, loaded now or later; None: no draft
        folder: Path | None = None,  # where it was saved, and will be; None: nowhere
        typical: tuple[dict[int, float], dict[int, float]] = ({}, {}),  # ratios elsewhere, of both
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.target, self._draft, self._clock = target, draft, clock
        self.draft: NativeModel | None = None
        """The draft, once it is loaded."""
        self._records = Records(folder, PROFILES, ModelProfile)
        of_target, of_draft = (_valid(self._records.get(key)) for key in self._keys)
        self.of_target, self.of_draft = of_target, of_draft
        of_target.typical, of_draft.typical = typical
        widest = max_proposals(target) + 1
        widths = [n for n in WIDTHS if n <= widest] or ([widest] if widest > 1 else [])
        self._usual = [Evaluation(of_target, n) for n in widths]
        wider = sorted({min(n, widest) for n in WIDER} - {1, *widths})
        self._rare = [Evaluation(of_target, n) for n in wider]
        if draft:
            steps = [Evaluation(of_draft, n) for n in DRAFT_WIDTHS]
            self._usual = [*self._usual[:1], *steps, *self._usual[1:]]
            self._rare.append(Evaluation(of_draft, DRAFT_PREFILL))

    @property
    def _keys(self) -> tuple[str, str]:
        verify = f"verify | {self.target.conditions}"
        return verify, f"draft | {self._draft} | {verify}"

    def reset(self) -> None:
        """Drop all samples, so that everything is measured again."""
        for profile in (self.of_target, self.of_draft):
            profile.plain_s, profile.ratios, profile.typical = [], {}, {}

    def add_draft(self, draft: NativeModel) -> None:
        """Add a draft that was loaded later."""
        self.draft, self._draft = draft, draft.conditions

    @cached_property
    def costs(self) -> Costs:
        """The costs of rounds."""
        return Costs(*self.seconds)

    @cached_property
    def acceptance(self) -> Acceptance:
        """How good sources are: of a pair, or of a target alone."""
        return Acceptance((self.of_draft if self._draft else self.of_target).acceptance)

    @property
    def seconds(self) -> tuple[dict[int, float], dict[int, float]]:
        """The seconds of the target and the draft, by tokens; without a draft the second is {}."""
        return self.of_target.seconds, self.of_draft.seconds if self._draft else {}

    @property
    def is_clear(self) -> bool:
        """Whether everything was measured, on a machine calm enough for figures that last."""
        is_measured = self.of_target.plain_s and (self.of_draft.plain_s or not self._draft)
        return bool(is_measured) and self._largest_error < CLEAR

    @property
    def _largest_error(self) -> float:
        return max((evaluation.error for evaluation in self._usual), default=0.0)

    @property
    def _has_all_cores(self) -> bool:
        return self.target.has_all_cores and (self.draft is None or self.draft.has_all_cores)

    def prepare(self, in_full: bool = True) -> None:
        """Measure what is unclear; if not `in_full`, one token alone where ratios are typical.

        In 22 recorded answers on five machines, decoding with typical costs was 0.96 to 1.02 times
        as fast as with those of `MEASURING_S`, which a first answer would have to wait for.
        """
        if in_full or not self.of_target.typical:
            if not self.is_clear:
                self.measure()
        elif not self.of_target.plain_s:
            self.sample(())
        if not self.of_draft.plain_s:
            self.of_draft.plain_s = [*self.of_target.plain_s]

    def measure(self) -> None:
        """Sample what is unclear for `MEASURING_S`, and what is `NEEDED` however long it takes."""
        deadline = self._clock() + MEASURING_S
        rare = [evaluation for evaluation in self._rare if evaluation.error == inf]
        evaluations = [*self._usual * 2, *rare, *self._usual * 3]
        unclear = [evaluation for evaluation in evaluations if evaluation.error >= CLEAR]

        def is_due(evaluation: Evaluation) -> bool:
            is_known = evaluation.profile.plain_s and evaluation.error < inf
            if evaluation.tokens in NEEDED and not is_known:
                return True
            return self._clock() < deadline and self._has_all_cores

        self.sample(filter(is_due, unclear))
        self.save()

    def refine(self) -> bool:
        """Take one sample of the least certain evaluation; return whether to stop for now.

        The reasons to stop: nothing needs another sample, the machine is busy, or so many tokens
        are cached that attention would count as well.
        """
        if len(self.target.cached_tokens) >= DEEP:
            return True
        loaded = (self.of_target, self.of_draft) if self.draft else (self.of_target,)
        possible = [evaluation for evaluation in self._usual if evaluation.profile in loaded]
        is_calm = self.sample([max(possible, key=lambda evaluation: evaluation.error)])
        self.costs.verify.measure(self.seconds[0])
        self.costs.draft.measure(self.seconds[1])
        is_settled = not is_calm or self._largest_error < SETTLED
        if is_settled:
            self.save()
        return is_settled

    def sample(self, evaluations: Iterable[Evaluation]) -> bool:
        """Time evaluations, each between two of one token; return whether the machine was calm.

        They continue the cached tokens, and the caches are the same afterwards.
        """
        models = [self.target, self.draft] if self.draft else [self.target]
        texts = [[*m.cached_tokens] or probe_text(SHALLOW, m.n_vocab) for m in models]
        before = self._seconds(self.target, texts[0], 1)
        is_calm = self.of_target.add(1, 1.0, before, self._has_all_cores)
        for profile, tokens in evaluations:
            index = -1 if profile is self.of_draft else 0  # the draft is the last, if it is loaded
            model, text = models[index], texts[index]
            if len(text) + tokens > model.n_ctx:
                continue
            seconds = self._seconds(model, text, tokens)
            after = self._seconds(self.target, texts[0], 1)
            plain_s = (before + after) / 2
            is_calm &= profile.add(tokens, seconds / plain_s, plain_s, self._has_all_cores)
            before = after
        for model, text in zip(models, texts, strict=True):
            model.logits(text, rows=0)
        return is_calm

    def _seconds(self, model: NativeModel, text: list[int], tokens: int) -> float:
        model.logits(text, rows=0)  # removes what follows the text from the cache
        longer = [*text, *probe_text(tokens, model.n_vocab)]
        started = self._clock()
        model.logits(longer, rows=min(tokens, model.max_rows))
        return self._clock() - started

    def save(self) -> None:
        """Save all samples if the folder can be written; else they are taken again later."""
        with suppress(OSError):
            self.put()

    def put(self) -> None:
        """Save all samples; OSError if the folder cannot be written."""
        if seconds := self.target.seconds_per_token:
            self.of_target.prompt_token_s = seconds
        self.of_target.token_s = self.costs.verify(1)
        profiles = [self.of_target, self.of_draft] if self._draft else [self.of_target]
        profiles[-1].acceptance = self.acceptance.lasting
        for key, profile in zip(self._keys, profiles, strict=False):
            self._records.put(key, profile)


def profile_of(path: Path, role: Literal["verify", "draft"], folder: Path | None) -> ModelProfile:
    """Return the newest profile of a file on this machine, however it was run; empty: none."""
    with suppress(OSError):
        status = path.stat()
        prefix = f"{role} | {status.st_size} {status.st_mtime_ns} | "
        return _valid(Records(folder, PROFILES, ModelProfile).newest(prefix))
    return ModelProfile()


def _valid(profile: ModelProfile | None) -> ModelProfile:
    return profile if profile and profile.is_valid else ModelProfile()


def probe_text(count: int, n_vocab: int) -> list[int]:
    """Return tokens that hardly repeat.

    A mixture of experts would evaluate the same token again with the same experts, for less.
    """
    return [(7919 * i + 1) % n_vocab for i in range(count)]
