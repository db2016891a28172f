"""What is known of each model, as plain values that print and serialise."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from assistant.chat.template_audit import examine
from models import catalog, gguf
from models.catalog import GGUF
from models.drafts import Pairing, best_draft
from models.errors import ModelMissing
from models.files import checksum
from models.files.discovery import LocalModel, discover, identify
from models.files.locate import find, locate, resolve
from models.files.places import cache_dir
from models.memory import estimate, of_pair

Facts = dict[str, object]
CONTEXT = 8192
"""Tokens for which memory is stated."""


def here(folders: Iterable[Path] = ()) -> list[Facts]:
    """Return the models on this machine, other programs' included."""
    return [_found(model) for model in discover(folders)]


def catalogue() -> list[Facts]:
    """Return the models that can be fetched by name."""
    return [_listed(entry) for entry in catalog.FILES.values()]


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
    facts: Facts = _listed(known) if isinstance(known, GGUF) else {"name": reference}
    try:
        path = locate(reference)
    except ModelMissing:
        if not isinstance(known, GGUF):
            raise
        facts["note"] = f"not on this machine; specchat models pull {reference}"
        return facts
    header = gguf.read(path)
    template = header.template
    facts |= _summary(identify(reference))
    facts["path"] = str(path)
    facts["verified_sha256"] = checksum.known_sha256(path)
    facts["template_remarks"] = " ".join(remark.text for remark in examine(header))
    facts["template_sha256"] = template and hashlib.sha256(template.encode()).hexdigest()
    facts["template"] = template
    return facts


def drafts(target: LocalModel, candidates: list[LocalModel]) -> list[Facts]:
    """Return what each candidate is worth as a draft for a target, those that serve first."""
    pairing, (best, why) = Pairing(target), best_draft(target, candidates)
    facts: list[Facts] = []
    for candidate in candidates:
        if candidate is target:
            continue
        verdict = pairing.judge(candidate)
        both = of_pair(target, candidate, CONTEXT) if verdict.serves else None
        facts.append(
            {
                "draft": candidate.reference,
                "store": candidate.store,
                "size": candidate.size,
                "serves": verdict.serves,
                "reason": verdict.reason,
                "chosen": why if candidate is best else None,
                "memory_of_both_at_8192": both and both.needed,
                **(_prediction(target, candidate) if verdict.serves else {}),
            }
        )
    return sorted(facts, key=lambda fact: (not fact["chosen"], not fact["serves"]))


def _prediction(target: LocalModel, draft: LocalModel) -> Facts:
    """Return what speculation with a draft promises here, from what was measured before."""
    from assistant.decoding.lookahead.machine_cache import predict  # brings numpy along
    from assistant.decoding.lookahead.theory import TYPICAL

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


def _found(model: LocalModel) -> Facts:
    facts: Facts = {
        "reference": model.reference,
        "store": model.store,
        "path": str(model.path),
        "repo": model.gguf and model.gguf.repo,
        "problem": model.refusal,
    }
    return facts | _summary(model)


def _listed(entry: GGUF) -> Facts:
    path, pair = find(entry), catalog.pair_of(entry)
    return {
        "name": entry.name,
        "repo": entry.repo,
        "file": entry.file,
        "revision": entry.revision,
        "size": entry.size,
        "size_exact": entry.size_exact,
        "sha256": entry.sha256,
        "licence": entry.licence,
        "draft": pair and pair.draft.name,
        "pair_tested": pair and pair.tested,
        "path": path and str(path),
    }


def _summary(model: LocalModel) -> Facts:
    summary = model.summary
    if summary is None:
        return {"size": model.size, "file_type": None}
    return {
        "size": model.size,
        "model": summary.name,
        "architecture": summary.architecture,
        "parameters": summary.scale,
        "file_type": summary.quantisation,
        "vocabulary": summary.n_vocab,
        "context": summary.n_ctx_train,
        "kv_bytes_per_token": summary.kv_bytes_per_token,
        "memory_at_8192": estimate(summary, model.size, CONTEXT).needed,
    }
