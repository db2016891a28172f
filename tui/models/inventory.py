"""The models on this machine and in the catalogue, with their roles and fit."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.events import Ready
from assistant.settings.settings import Settings
from models import machine, memory
from models.catalog import FILES, GGUF, draft_for
from models.drafts import DraftVerdict, Pairing, best_draft, listed_draft
from models.errors import SpecchatError
from models.files.locate import identify
from models.files.model_file import ModelFile
from models.files.places import cache_dir
from models.files.stores import discover, find_gguf
from models.memory import Fit

if TYPE_CHECKING:
    from assistant.engine.expectation import Expectation, Expectations


PURPOSES = {
    "coder": "code", "qwen": "reasoning, tools", "gemma": "writing, languages",
    "lfm2": "quick chat, tools", "ministral": "writing, tools", "granite": "documents, tools",
    "llama": "everyday chat", "smollm": "simple chat", "phi-": "maths, reasoning",
    "gpt-oss": "reasoning, tools", "nemotron": "reasoning, tools",
}  # fmt: skip
"""The uses that models are good for, by a part of their names."""


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model to choose: a file on this machine, or one of the catalogue."""

    model: ModelFile | GGUF
    origin: str  # the store of a file, or the licence of a catalogue model
    role: str  # its present or possible role, in words
    style: str  # of the role
    fit: Fit | None = None
    verdict: DraftVerdict | None = None  # as a draft for the target that is loaded
    now: str = ""  # its present role: target or draft
    expected: "Expectation | None" = None

    @property
    def key(self) -> str:
        """A unique key."""
        return str(self.here.path) if self.here else self.model.name

    @property
    def here(self) -> ModelFile | None:
        """The file, if it is on this machine."""
        return self.model if isinstance(self.model, ModelFile) else None

    @property
    def is_unusable(self) -> bool:
        """Whether it is a file that cannot be a target."""
        return self.here is not None and self.here.unusable_reason is not None

    def matches(self, text: str) -> bool:
        """Return whether every word of a filter occurs in its fields."""
        fields = " ".join([self.model.name, self.model.weights, self.origin, self.now, self.key])
        return all(word in fields.lower() for word in text.lower().split())


def _role_in_words(model: ModelFile, now: str, verdict: DraftVerdict | None) -> tuple[str, str]:
    """Return the present or possible role of a file, and its style."""
    if now:
        return f"● {'answers' if now == 'target' else 'guesses'} now", "bold $text-accent"
    if model.unusable_reason:
        return "✗ cannot be used", "$text-error"
    if verdict and verdict.serves:
        return "answers, or guesses", "$text-success"
    return purpose(model.name) or "answers", ""


def purpose(name: str) -> str:
    """Return what the makers of a model say it is for, in a few words; empty if not known."""
    return next((what for part, what in PURPOSES.items() if part in name.lower()), "")


@dataclass(frozen=True, slots=True)
class Advice:
    """The consequences of using a file as the target."""

    draft: ModelFile | None
    reason: str  # a sentence on why this draft, or none
    fit: Fit | None  # of both; None where a header lacks what it needs
    expected: "Expectation | None"


class ModelInventory:
    """The models on this machine and in the catalogue. Slow: call it on a thread."""

    def __init__(self, settings: Settings, ready: Ready | None = None) -> None:
        self._settings = settings
        loaded = (ready.draft, ready.target) if ready else ()  # one file may be both
        self._loaded = {info.path.resolve(): info.role for info in loaded if info}
        self._freed = 0  # bytes that unloading will free
        self._advice: dict[tuple[Path, int], Advice] = {}
        self._expectations: Expectations | None = None
        self.models: list[ModelFile] = []
        """The files; one outside of all stores may be appended."""
        self.offline = settings.offline  # nothing may be fetched

    def scan(self) -> Iterator[ModelFile]:
        """Scan all files, yielding each once its header has been read."""
        self._advice.clear()
        self._expectations = None
        self.models = []
        self._freed = memory.in_use() if self._loaded else 0
        for model in chain(discover(self._settings.folders), self._elsewhere()):
            self.models.append(model)
            yield model
        from assistant.engine.expectation import Expectations  # imports numpy

        self._expectations = Expectations(self.models, cache_dir())
        self._advice.clear()  # it lacked the expectations

    def complete(self) -> "ModelInventory":
        """Scan all files; return self."""
        list(self.scan())
        return self

    def _elsewhere(self) -> Iterator[ModelFile]:
        """Yield loaded models outside of all stores, which were given by path."""
        listed = {model.path.resolve() for model in self.models}
        for path in self._loaded.keys() - listed:
            with suppress(SpecchatError):  # it was removed since
                yield identify(str(path), self.models)

    def target(self) -> ModelFile | None:
        """Return the model that is loaded as the target."""
        return next((model for model in self.models if self._role(model) == "target"), None)

    def judged(self, models: Iterable[ModelFile]) -> list[ModelEntry]:
        """Return the entries of files, with what they are as drafts of the loaded target."""
        target = self.target()
        gone = DraftVerdict(False, "the file of the model that answers is gone")
        is_gone = self._loaded and self._expectations  # the scan has ended without it
        judge = Pairing(target).judge if target else lambda _: gone if is_gone else None
        return [self.entry(model, judge(model)) for model in models]

    def _role(self, model: ModelFile) -> str:
        return self._loaded.get(model.path.resolve(), "")

    def entry(self, model: ModelFile, verdict: DraftVerdict | None = None) -> ModelEntry:
        """Return the entry of a file."""
        now = self._role(model)
        role = _role_in_words(model, now, verdict)
        fit, expected = self.fit(model), self.expect(model)
        return ModelEntry(model, model.store, *role, fit, verdict, now, expected)

    def advise(self, target: ModelFile) -> Advice:
        """Return which draft a target would get, and whether both fit."""
        key = target.path, len(self.models)  # a further file may be a better draft
        if key not in self._advice:
            draft, reason = best_draft(target, self.models)
            expected = self.expect(target, draft)
            self._advice[key] = Advice(draft, reason, self.fit(target, draft), expected)
        return self._advice[key]

    def expect(
        self, model: ModelFile | GGUF, draft: ModelFile | GGUF | None = None
    ) -> "Expectation | None":
        """Return the expected speed of a model on this machine; None before the scan ends."""
        return self._expectations.of(model, draft) if self._expectations else None

    def fit(self, target: ModelFile, draft: ModelFile | None = None) -> Fit | None:
        """Return whether a target and a draft fit into memory together."""
        needed = memory.of_pair(target, draft, self._settings.n_ctx or memory.CONTEXT)
        return needed.fit(self._freed) if needed else None

    @property
    def available(self) -> int:
        """Bytes that models may take once the loaded ones are freed."""
        return machine.memory().free + self._freed

    def listed(self) -> list[ModelEntry]:
        """Return the catalogue models that are not on this machine."""
        target = self.target()
        draft = listed_draft(target) if target else None
        return [self._entry(gguf, gguf is draft) for gguf in FILES.values() if not find_gguf(gguf)]

    def _entry(self, gguf: GGUF, drafts: bool) -> ModelEntry:
        role, style = purpose(gguf.name) or "answers", "$foreground-muted"
        if drafts:
            role, style = "guesses for yours", "$text-success"
        fit = memory.estimate_by_size(gguf.size, gguf.file).fit(self._freed)
        expected = self.expect(gguf, draft_for(gguf))
        return ModelEntry(gguf, gguf.licence, role, style, fit, expected=expected)


def needed_files(target: GGUF) -> tuple[GGUF, ...]:
    """Return the files to fetch for a target: itself, and its draft unless on this machine."""
    draft = draft_for(target)
    return (target, draft) if draft and find_gguf(draft) is None else (target,)
