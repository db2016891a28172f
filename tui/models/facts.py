"""What is known of each model, as plain values that print and serialise."""

import hashlib

from assistant.chat.template_audit import examine
from models import catalog, gguf
from models.catalog import GGUF, HEADS
from models.drafts import DraftVerdict, Pairing
from models.errors import ModelMissing
from models.files import checksum
from models.files.locate import identify, resolve
from models.files.model_file import ModelFile
from models.files.places import cache_dir
from models.files.stores import find
from models.gguf.header import RECIPE, SOURCE, SOURCE_SHA256
from models.memory import ROWS, estimate, machine, of_pair
from models.rollback import rollback_slots, state_bytes
from tui.models.inventory import Advice, ModelInventory
from tui.widgets.text_figures import size as amount

Facts = dict[str, object]
CONTEXT = 8192
"""Tokens for which memory is stated."""


def pairs() -> list[Facts]:
    """Return the targets and drafts that share a vocabulary, by name."""
    return [
        {
            "name": each.name,
            "target": each.target.name,
            "draft": each.draft.name,
            "tested": each.tested,
        }
        for each in catalog.PAIRS
    ]


def details(reference: str) -> Facts:
    """Return all that is known of one model, whether it is here or not."""
    known = resolve(reference)
    facts: Facts = listed(known) if isinstance(known, GGUF) else {"name": reference}
    try:
        model = identify(reference)
    except ModelMissing:
        if not isinstance(known, GGUF):
            raise
        facts["note"] = f"not on this machine; specchat models pull {reference}"
        return facts
    header = gguf.read(model.path)
    template = header.template
    facts |= _summary(model)
    facts["path"] = str(model.path)
    facts["made_from"] = _origin(header)
    facts["verified_sha256"] = checksum.known_sha256(model.path)
    facts["template_remarks"] = " ".join(remark.text for remark in examine(header))
    facts["template_sha256"] = template and hashlib.sha256(template.encode()).hexdigest()
    facts["template"] = template
    return facts


def _origin(header: gguf.Header) -> str | None:
    """Return what a file says it was made from, and how."""
    source, digest, recipe = (header.metadata.get(key) for key in (SOURCE, SOURCE_SHA256, RECIPE))
    return f"{source}, sha256 {digest}: {recipe}" if source else None


def drafts(inventory: ModelInventory, target: ModelFile) -> list[Facts]:
    """Return what each model is worth as a draft for a target, those that serve first."""
    advice, verdicts = inventory.advise(target), inventory.verdicts(target)
    others = [model for model in inventory.models if model is not target]
    facts = [_draft(target, model, verdicts[model.path], advice) for model in others]
    if (own := Pairing(target).judge(target)).serves:  # by heads within it
        facts.insert(0, _draft(target, target, own, advice))
    return sorted(facts, key=lambda fact: (not fact["chosen"], not fact["serves"]))


def _draft(target: ModelFile, draft: ModelFile, verdict: DraftVerdict, advice: Advice) -> Facts:
    is_other = draft is not target
    both = verdict.serves and of_pair(
        target, draft if is_other else None, CONTEXT, heads=not is_other
    )
    return {
        "draft": draft.reference if is_other else HEADS,
        "store": draft.store,
        "size": draft.size,
        "serves": verdict.serves,
        "reason": verdict.reason,
        "chosen": advice.reason if draft is advice.draft else None,
        "memory_of_both_at_8192": both.needed if both else None,
        **(_prediction(target, draft) if verdict.serves else {}),
    }


def _prediction(target: ModelFile, draft: ModelFile) -> Facts:
    """Return what speculation with a draft promises here, from what was measured before."""
    from assistant.decoding.lookahead.theory import TYPICAL
    from assistant.engine.machine_cache import predict  # imports numpy

    predicted = predict(target.path, draft.path, cache_dir())
    if predicted is None:
        return {"predicted": None}
    return {
        "predicted": {
            "acceptance_rate": TYPICAL,
            "speedup": predicted.speedup,
            "lookahead": predicted.lookahead,
            "pays_from_acceptance_rate": predicted.pays_from,
        }
    }


def found(model: ModelFile) -> Facts:
    """Return what is known of a file on this machine."""
    facts: Facts = {
        "reference": model.reference,
        "store": model.store,
        "path": str(model.path),
        "repo": model.gguf and model.gguf.repo,
        "problem": model.refusal,
    }
    return facts | _summary(model)


def listed(entry: GGUF) -> Facts:
    """Return what is known of a model that can be fetched by name."""
    path, pair = find(entry), catalog.pair_of(entry)
    names = "name", "repo", "file", "revision", "size", "sha256", "licence", "context"
    return {name: getattr(entry, name) for name in names} | {
        "draft": HEADS if entry.heads else pair and pair.draft.name,
        "tested": entry.tested,
        "size_exact": entry.tested,
        "pair_tested": pair and pair.tested,
        "machine_gb": needed_gigabytes(entry),
        "path": path and str(path),
    }


def needed_gigabytes(entry: GGUF) -> int | None:
    """Return the GB of memory of the smallest usual machine for a model and its listed draft."""
    draft = catalog.draft_for(entry)
    return machine(entry.size + (draft.size if draft else 0))


def _summary(model: ModelFile) -> Facts:
    header = model.header
    if header is None:
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
        "memory_at_8192": estimate(header, model.size, CONTEXT).needed,
        "memory_of_heads_at_8192": CONTEXT * header.head_bytes_per_token or None,
        "takes_back": taken_back(header, model.size) if header.is_recurrent else None,
    }


def taken_back(header: gguf.Header, size: int) -> str:
    """Return what a recurrent model can take back of a batch, and what memory that takes."""
    state, most = state_bytes(header), rollback_slots(header, ROWS, size)
    if not most:
        return f"by a copy of its state, {amount(state)}; what stays is evaluated again"
    return f"up to {most} proposals for nothing: their states take {amount(most * state)}"
