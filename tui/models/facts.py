"""Facts about models, also as drafts: as plain values for JSON, and as lines."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from models import catalog, gguf, memory
from models.catalog import GGUF
from models.drafts import Pairing
from models.errors import ModelMissing
from models.files import checksum
from models.files.locate import identify, resolve
from models.files.model_file import ModelFile
from models.files.places import collapse_user
from models.files.stores import find_gguf
from models.gguf.header import RECIPE, SOURCE, SOURCE_SHA256
from models.native import repacked
from tui.formatting import MISSING, wrap
from tui.formatting import size as amount
from tui.labels import model_name
from tui.models.inventory import ModelInventory

if TYPE_CHECKING:
    from assistant.engine.expectation import Expectation

Facts = dict[str, object]
TESTED = (
    "* Was run before it was listed; the others were not. specchat models pair and specchat prove "
    "tell whether a pair works on this machine."
)


def all_facts(reference: str, inventory: ModelInventory) -> Facts:
    """Return all facts about a model, on this machine or not."""
    resolved = resolve(reference)
    entry = catalogue_facts(resolved, inventory) if isinstance(resolved, GGUF) else {}
    facts: Facts = {"name": reference} | entry
    try:
        model = identify(reference, inventory.models)
    except ModelMissing:
        if not isinstance(resolved, GGUF):
            raise
        return facts | {"note": f"not on this machine; specchat models pull {reference}"}
    header = gguf.read(model.path)
    template = header.template
    source, digest, recipe = (header.metadata.get(key) for key in (SOURCE, SOURCE_SHA256, RECIPE))
    return facts | _summary(model, inventory) | {
        "problem": model.unusable_reason,
        "path": str(model.path),
        "made_from": f"{source}, sha256 {digest}: {recipe}" if source else None,
        "copy_that_loads_at_once": repacked.copied_bytes(model.path) or None,
        "verified_sha256": checksum.known_sha256(model.path),
        "template_sha256": template and hashlib.sha256(template.encode()).hexdigest(),
        "template": template,
    }  # fmt: skip


def file_facts(model: ModelFile, inventory: ModelInventory) -> Facts:
    """Return the facts about a file on this machine."""
    facts: Facts = {
        "reference": model.reference,
        "store": model.store,
        "path": str(model.path),
        "repo": model.gguf and model.gguf.repo,
        "problem": model.unusable_reason,
    }
    return facts | _summary(model, inventory)


def catalogue_facts(entry: GGUF, inventory: ModelInventory) -> Facts:
    """Return the facts about a catalogue model."""
    path, draft = find_gguf(entry), catalog.draft_for(entry)
    names = "name", "repo", "file", "revision", "size", "sha256", "licence", "context", "draft"
    return {name: getattr(entry, name) for name in names} | {
        "size": entry.size or None,  # it is unknown of a file that is only named
        "tested": entry.tested,
        "size_exact": entry.tested,
        "pair_tested": draft and entry.tested and draft.tested,
        "machine_gb": _machine_gb(entry) if entry.size else None,
        "path": path and str(path),
        "expected_here": inventory.expect(entry, draft),
    }


def _machine_gb(entry: GGUF) -> int | None:
    """Return the GB of the smallest common machine for a model and its listed draft."""
    draft = catalog.draft_for(entry)
    return memory.machine_gb(entry.size + (draft.size if draft else 0))


def _summary(model: ModelFile, inventory: ModelInventory) -> Facts:
    if (header := model.header) is None:
        return {"size": model.size, "file_type": None}
    return {
        "size": model.size,
        "model": header.name,
        "architecture": header.architecture or "",
        "parameters": header.scale,
        "file_type": header.file_type,
        "vocabulary": header.n_vocab or 0,
        "made_to_draft_for": header.serves,
        "context": header.n_ctx_train,
        "kv_bytes_per_token": header.kv_bytes_per_token or 0,
        "memory_at_8192": memory.estimate(header, model.size, memory.CONTEXT).needed,
        "rolls_back": _rollback_text(header, model.size) if header.is_recurrent else None,
        "expected_here": inventory.advise(model).expected,
    }


def _rollback_text(header: gguf.Header, size: int) -> str:
    """Return how far a recurrent model can roll a batch back, and the memory this takes."""
    state, tokens = memory.state_bytes(header), memory.rollback_slots(header, memory.ROWS, size)
    if not tokens:
        return f"with a copy of its state, {amount(state)}; remaining tokens are evaluated again"
    return f"up to {tokens} tokens at no cost in time: their states take {amount(tokens * state)}"


def installed_lines(inventory: ModelInventory) -> Iterator[str]:
    """Yield lines of the models on this machine, their long references last."""
    if not inventory.models:
        yield "There are no models on this machine."
        return
    yield "On this machine (specchat --target MODEL): size, tokens/s, weights, place"
    for model in inventory.models:
        header = model.header
        figures = f"{amount(model.size):>8}  {_speed(inventory.expect(model)):>7}"
        name = collapse_user(Path(model.reference))
        yield f"{figures}  {model.weights:<8} {model.store:<12}  {name}"
        yield from wrap(model.unusable_reason or "", " " * 12)
        if header and header.serves:
            target = model_name(header.serves.rpartition(",")[0])
            yield from wrap(f"made to guess for {target}", " " * 12)


def downloadable_lines(inventory: ModelInventory) -> Iterator[str]:
    """Yield lines of the catalogue models not on this machine, grouped by memory."""
    yield "Available to download (specchat models pull NAME):"
    groups: dict[int | None, list[str]] = {gigabytes: [] for gigabytes in (*memory.MACHINES, None)}
    for entry in catalog.FILES.values():
        if find_gguf(entry) is None:
            line = _fetchable(entry, inventory.expect(entry))
            groups[_machine_gb(entry)].append(line)
    for gigabytes, lines in groups.items():
        if lines:
            machines = f"{gigabytes or 'more'} GB of memory"
            yield f"With {machines}: size, tokens/s here, context, licence, name + draft"
            yield from lines
    if any("*" in line for lines in groups.values() for line in lines):
        yield from wrap(TESTED)


def _speed(expectation: "Expectation | None") -> str:
    return str(expectation.tokens_per_s) if expectation else MISSING


def _fetchable(entry: GGUF, expectation: "Expectation | None") -> str:
    draft = catalog.draft_for(entry)
    tokens = f"{entry.context // 1024}k" if entry.context else "?"
    run = "*" if entry.tested and (draft.tested if draft else not entry.draft) else " "
    name = f"{entry.name} + {entry.draft}" if entry.draft else entry.name
    figures = f"{amount(entry.size):>8}  {_speed(expectation):>7} {tokens:>5}"
    return f"{figures} {entry.licence:<15}{run} {name}"


@dataclass(frozen=True, slots=True)
class DraftFacts:
    """A model on this machine as a draft for a target."""

    draft: str
    store: str
    size: int
    serves: bool
    reason: str
    chosen: str | None  # why it is the best, if it is
    memory_of_both_at_8192: int | None
    expected: "Expectation | None"

    def lines(self) -> Iterator[str]:
        """Yield lines on whether it serves, and why."""
        answer = "best" if self.chosen else "yes" if self.serves else "no"
        yield f"{answer:<5} {collapse_user(Path(self.draft))}  {amount(self.size)}"
        reasons = [self.reason]
        if self.serves and self.memory_of_both_at_8192:
            both = f"{amount(self.memory_of_both_at_8192)} of memory for both"
            reasons += [both, str(self.expected or "not measured here yet (specchat tune)")]
        yield from wrap("; ".join([*reasons, *filter(None, [self.chosen])]), "      ")


def draft_facts(inventory: ModelInventory, target: ModelFile) -> list[DraftFacts]:
    """Return each model's verdict as a draft for a target, those that serve first."""
    advice, pairing, judged = inventory.advise(target), Pairing(target), list[DraftFacts]()
    for model in inventory.models:
        verdict = pairing.judge(model)
        both = memory.of_pair(target, model, memory.CONTEXT) if verdict.serves else None
        needed = both.needed if both else None
        chosen = advice.reason if model is advice.draft else None
        expected = inventory.expect(target, model) if verdict.serves else None
        fields = model.reference, model.store, model.size, verdict.serves, verdict.reason
        judged.append(DraftFacts(*fields, chosen, needed, expected))
    return sorted(judged, key=lambda facts: (not facts.chosen, not facts.serves))
