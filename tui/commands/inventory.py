"""What is known of each model, as plain values that print and serialise."""

import hashlib

from models import catalog, gguf
from models.catalog import GGUF
from models.errors import ModelError, ModelMissing
from models.files import checksum
from models.files.locate import Installed, find, installed, locate, resolve

Facts = dict[str, object]


def here() -> list[Facts]:
    """Return the models on this machine."""
    return [_installed(model) for model in installed()]


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
    facts |= _header(header)
    facts["path"] = str(path)
    facts["verified_sha256"] = checksum.known_sha256(path)
    facts["template_sha256"] = template and hashlib.sha256(template.encode()).hexdigest()
    facts["template"] = template
    return facts


def _installed(model: Installed) -> Facts:
    facts: Facts = {"reference": model.reference, "path": str(model.path), "repo": model.repo}
    try:
        facts |= _header(gguf.read(model.path))
        facts["problem"] = None
    except ModelError as error:
        facts |= {"size": model.size, "file_type": None, "problem": str(error)}
    return facts


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


def _header(header: gguf.Header) -> Facts:
    return {
        "size": header.size,
        "model": header.name,
        "architecture": header.architecture,
        "file_type": header.file_type,
        "vocabulary": header.n_vocab,
        "context": header.n_ctx_train,
        "layers": header.layers,
        "kv_bytes_per_token": header.kv_bytes_per_token,
        "memory_at_8192": header.memory(8192),
    }
