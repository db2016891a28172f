"""Finds a target and its draft on this machine; drafts are judged by their headers."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from models import catalog
from models.catalog import GGUF
from models.errors import ModelError, ModelMissing, SpecchatError
from models.files.checksum import verified_path
from models.files.gguf_files import gguf_files, is_helper
from models.files.locate import identify
from models.files.model_file import ModelFile
from models.files.places import models_dir
from models.files.stores import discover, find_gguf
from models.gguf import FileVocabulary, read_vocabulary
from models.gguf.vocabulary import mismatch
from models.progress import Report

MAX_SHARE_OF_TARGET = 0.5
"""How large a draft may be, relative to its target, to be chosen by default."""
NO_DRAFT = "none"  # instead of a draft's name: decode without one


def find_target(reference: str | None, folders: Iterable[Path], report: Report) -> Path:
    """Return the file of a target, or of the usual one; other models in `folders` are suggested.

    A file whose bytes are known is verified before its first use, which takes seconds. A
    `ModelError` says that it is damaged, or not on this machine.
    """
    usual = catalog.DEFAULT.target.name
    try:
        return verified_path(reference or usual, report)
    except ModelMissing as missing:
        here = discover(folders) if reference is None else ()
        if other := next((model for model in here if model.unusable_reason is None), None):
            raise ModelMissing(
                f"The default model, {usual}, is not on this machine, but others are: name "
                f"one, as in --target {other.reference}, or fetch it: specchat models pull default"
            ) from missing
        raise


def find_draft(
    named: str | None, target: str, folders: Iterable[Path], report: Report
) -> tuple[Path | None, str | None]:
    """Return the file of the draft that is named, else of the best one here; or None, and why."""
    if named == NO_DRAFT:
        return None, "No model guesses, as you asked."
    wanted, reason = (named, "") if named else _choose(target, folders)
    try:
        return (verified_path(wanted, report), None) if wanted else (None, reason)
    except SpecchatError as error:
        return None, str(error)


def _choose(target: str, folders: Iterable[Path]) -> tuple[str | None, str]:
    """Return the draft to use for a target, or why there is none."""
    model = identify(target)
    if made := own_draft(model):
        return made.reference, ""
    if (listed := listed_draft(model)) and find_gguf(listed):
        return listed.name, ""
    here = list(discover(folders))  # of other programs, too, which takes longer
    draft, reason = best_draft(identify(target, here), here)
    return (draft.reference if draft else None), reason


@dataclass(frozen=True, slots=True)
class DraftVerdict:
    """Whether a file can draft for a target, and why: a part of a sentence."""

    serves: bool
    reason: str


class Pairing:
    """The drafts of one target; equal vocabularies are compared once."""

    def __init__(self, target: ModelFile) -> None:
        self.target = target
        # By the digests of the drafts' vocabularies.
        self._differences: dict[str | None, str | None] = {}
        self._mapped: dict[str | None, DraftVerdict] = {}

    def judge(self, draft: ModelFile) -> DraftVerdict:
        """Return whether a file can draft for the target, and why."""
        if reason := self._unusable_reason(draft):
            return DraftVerdict(False, reason)
        if self._difference(draft) is None:
            return DraftVerdict(True, "same vocabulary")
        digest = _digest(draft)
        if digest not in self._mapped:
            self._mapped[digest] = self._map(draft)
        return self._mapped[digest]

    def matches(self, draft: ModelFile) -> bool:
        """Return whether a file can draft with the same vocabulary; this is quick."""
        return self._unusable_reason(draft) is None and self._difference(draft) is None

    def _unusable_reason(self, draft: ModelFile) -> str | None:
        """Return why a file cannot draft for the target, whatever its vocabulary."""
        target, small = self.target.header, draft.header
        if target is None or small is None:
            return self.target.unreadable_reason or draft.unreadable_reason or "it cannot be read"
        if draft.path.resolve() == self.target.path.resolve():
            return "it is the one that answers"
        if target.unusable_reason:
            return f"the one that answers is {target.unusable_reason}"
        if small.unusable_reason:
            return f"it is {small.unusable_reason}"
        return "it is not smaller" if draft.size >= self.target.size else None

    def _difference(self, draft: ModelFile) -> str | None:
        """Return how the vocabularies differ, padding aside."""
        digest = _digest(draft)
        if digest == _digest(self.target):
            return None
        if digest not in self._differences:
            try:
                self._differences[digest] = mismatch(self._tokens, read_vocabulary(draft.path))
            except ModelError as error:
                self._differences[digest] = str(error)
        return self._differences[digest]

    def _map(self, draft: ModelFile) -> DraftVerdict:
        from models.mapping import shared_tokens

        try:
            shared, *_ = shared_tokens(self._tokens, read_vocabulary(draft.path))
        except ModelError as error:
            return DraftVerdict(False, str(error))
        return DraftVerdict(True, f"{len(shared):,} tokens in common")

    @cached_property
    def _tokens(self) -> FileVocabulary:
        return read_vocabulary(self.target.path)


def _digest(model: ModelFile) -> str | None:
    return model.header.vocabulary if model.header else None


def best_draft(target: ModelFile, candidates: Iterable[ModelFile]) -> tuple[ModelFile | None, str]:
    """Return the default draft for a target, and a sentence that says why that one, or why none.

    It is the last that was made for it here, else the one that the catalogue lists, else the
    smallest of the same vocabulary, up to half the target's size: a larger one rarely gains
    anything.
    """
    pairing, listed = Pairing(target), listed_draft(target)
    by_size = sorted(candidates, key=lambda draft: draft.size)
    made = (draft for draft in by_size if is_made_for(draft, target))
    if newest := _newest(draft for draft in made if pairing.judge(draft).serves):
        return newest, f"{newest.name} was made to guess for {target.name}."
    for draft in by_size:
        if listed and draft.gguf is listed and pairing.judge(draft).serves:
            return draft, f"{draft.name} is the listed draft model of {target.name}."
    for draft in by_size:
        is_small = draft.size <= MAX_SHARE_OF_TARGET * target.size
        if is_small and not is_helper(draft.path.name) and pairing.matches(draft):
            return draft, f"{draft.name} is the smallest model here with the same vocabulary."
    return None, _without_draft(target, any(map(pairing.matches, by_size)))


def target_mark(target: ModelFile) -> str:
    """Return the name and size of a target, which a draft made for it records."""
    name = target.header.name if target.header else None
    return f"{name or target.path.stem}, {target.size} bytes"


def is_made_for(draft: ModelFile, target: ModelFile) -> bool:
    """Return whether a draft was made for a target here; claims of other files are ignored."""
    ours = draft.path.is_relative_to(models_dir())
    return bool(ours and draft.header and draft.header.serves == target_mark(target))


def own_draft(target: ModelFile) -> ModelFile | None:
    """Return the last draft that was made for a target, among specchat's own files."""
    here = [identify(str(path)) for path in gguf_files(models_dir())]
    return _newest(draft for draft in here if is_made_for(draft, target))


def _newest(drafts: Iterable[ModelFile]) -> ModelFile | None:
    return max(drafts, key=lambda draft: draft.path.stat().st_mtime_ns, default=None)


def listed_draft(target: ModelFile) -> GGUF | None:
    """Return the draft that the catalogue knows for a target, or for its vocabulary."""
    by_file = (gguf for gguf in catalog.FILES.values() if gguf.file == target.path.name)
    known = target.gguf or next(by_file, None)
    if known and (listed := catalog.draft_for(known)):
        return listed
    header = target.header
    draft = catalog.DRAFT_OF_VOCABULARY.get(header.vocabulary or "") if header else None
    return draft if draft and draft.size <= MAX_SHARE_OF_TARGET * target.size else None


def _without_draft(target: ModelFile, serves: bool) -> str:
    header = target.header
    if header and header.unusable_reason:
        return f"No model can guess for {target.name}: it is {header.unusable_reason}."
    sentence = f"No smaller model here has the vocabulary of {target.name}."
    if serves:
        sentence = f"No model here is small enough to gain anything by guessing for {target.name}."
    if listed := listed_draft(target):
        return f"{sentence} Fetch one: specchat models pull {listed.name}"
    return sentence
