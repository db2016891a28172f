"""Which of the files on this machine can draft for a target, told from their headers alone."""

from collections.abc import Iterable
from dataclasses import dataclass

from models import catalog
from models.catalog import GGUF
from models.errors import ModelError
from models.files.discovery import Found
from models.gguf import Summary, read_vocabulary
from models.pairing import Vocabulary, mismatch

SMALL_ENOUGH = 0.5
"""How large a draft may be beside its target to be chosen unasked."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a file can draft for a target, and why: a part of a sentence."""

    serves: bool
    reason: str


class Pairing:
    """The drafts of one target; vocabularies that are alike are compared once."""

    def __init__(self, target: Found) -> None:
        self.target = target
        self._vocabulary: Vocabulary | None = None
        self._compared: dict[str | None, Verdict] = {}

    def judge(self, draft: Found) -> Verdict:
        """Say whether a file can draft for the target."""
        target, small = self.target.summary, draft.summary
        if target is None or small is None:
            return Verdict(False, self.target.problem or draft.problem or "it cannot be read")
        if draft.path.resolve() == self.target.path.resolve():
            return Verdict(False, "it is the target itself")
        if reason := _hindrance_of_target(target) or _hindrance_of_draft(small):
            return Verdict(False, reason)
        if draft.size >= self.target.size:
            return Verdict(False, "it is not smaller than the target")
        if small.vocabulary == target.vocabulary:
            return Verdict(True, "same vocabulary")
        if small.vocabulary not in self._compared:
            self._compared[small.vocabulary] = self._compare(draft)
        return self._compared[small.vocabulary]

    def _compare(self, draft: Found) -> Verdict:
        try:
            if self._vocabulary is None:
                self._vocabulary = read_vocabulary(self.target.path)
            reason = mismatch(self._vocabulary, read_vocabulary(draft.path))
        except ModelError as error:
            return Verdict(False, str(error))
        if reason is None:
            return Verdict(True, "same vocabulary, padding aside")
        return Verdict(False, f"another vocabulary: {reason}")


def _hindrance_of_target(target: Summary) -> str | None:
    if target.flaw:
        return f"the target is {target.flaw}"
    if not target.rolls_back:
        return "the target is recurrent and cannot take tokens back"
    return None


def _hindrance_of_draft(draft: Summary) -> str | None:
    if draft.flaw:
        return f"it is {draft.flaw}"
    return None if draft.rolls_back else "it is recurrent and cannot take tokens back"


def best_draft(target: Found, candidates: Iterable[Found]) -> tuple[Found | None, str]:
    """Return the draft for a target for which none is named, and why that one or none: a sentence.

    It is the one that the catalogue lists, else the smallest that serves, up to half the target's
    size: a larger one rarely gains anything.
    """
    pairing, listed = Pairing(target), listed_draft(target)
    by_size = sorted(candidates, key=lambda found: found.size)
    for draft in by_size:
        if listed and draft.gguf is listed and pairing.judge(draft).serves:
            return draft, f"{draft.name} is the draft listed for {target.name}."
    for draft in by_size:
        if draft.size <= SMALL_ENOUGH * target.size and pairing.judge(draft).serves:
            return draft, f"{draft.name} is the smallest model here with the same vocabulary."
    return None, _without_draft(target)


def listed_draft(target: Found) -> GGUF | None:
    """Return the draft that the catalogue knows for a target, or for its vocabulary."""
    known = target.gguf or _by_file(target)
    if known and (listed := catalog.draft_for(known)):
        return listed
    summary = target.summary
    draft = catalog.DRAFT_OF_VOCABULARY.get(summary.vocabulary or "") if summary else None
    return draft if draft and draft.size <= SMALL_ENOUGH * target.size else None


def _by_file(target: Found) -> GGUF | None:
    return next((gguf for gguf in catalog.FILES.values() if gguf.file == target.path.name), None)


def _without_draft(target: Found) -> str:
    if target.summary and (reason := _hindrance_of_target(target.summary)):
        return f"{target.name} has no draft: {reason}."
    sentence = f"No model on this machine can draft for {target.name}."
    if listed := listed_draft(target):
        return f"{sentence} Fetch one: specchat models pull {listed.name}"
    return sentence
