"""Which file of a hub repository suits this machine, when the repository alone is named."""

import re
from collections.abc import Mapping
from pathlib import Path

from models import memory
from models.catalog import GGUF
from models.errors import ModelError, ModelMissing, NetworkError, UsageError
from models.files import hub
from models.files.gguf_files import labelled
from models.memory import Fit
from models.progress import Progress, Report

_REPO = re.compile(r"([\w.-]+/[\w.-]+)(?:@([\w.-]+))?")
ORDER = (
    *("Q4_K_M", "Q4_K_S", "Q4_0", "Q4_1", "IQ4_NL", "IQ4_XS", "MXFP4", "Q5_K_M", "Q5_K_S", "Q5_0"),
    *("Q6_K", "Q8_0", "Q3_K_L", "Q3_K_M", "IQ3_M", "Q3_K_S", "Q2_K"),
)
"""The quantisations that are chosen, best first: small and nearly as good as the original."""


def is_repository(reference: str) -> bool:
    """Say whether a reference names a repository, not a file in it or on this machine."""
    return (
        _REPO.fullmatch(reference) is not None
        and not reference.lower().endswith(".gguf")
        and not Path(reference).exists()
    )


def offer(repo: str, report: Report, *, offline: bool = False) -> tuple[str, str]:
    """Return what to pull of a repository to fit into memory, and what to know before that.

    Raises:
        NetworkError: the hub cannot or may not be asked, or its terms must be accepted first.
        ModelMissing: it has no model in one file with a quantisation in its name.
        ModelError: none fits.
    """
    match = _REPO.fullmatch(repo)
    if match is None:
        raise UsageError(f"{repo} is not a valid repository name.")
    if hub.is_offline(offline):
        raise NetworkError(
            f"Only the hub can list the files of {repo}, but --offline or HF_HUB_OFFLINE is set."
        )
    name, revision = match.groups()
    report(Progress(0, 0, "asking the hub"))
    found = hub.describe(name, revision)
    if found.gated and hub.token() is None:
        raise NetworkError(
            f"{name} is given only to those who accept its terms (licence: "
            f"{found.licence or 'not named'}). Accept them on its page, then set HF_TOKEN to your "
            "token."
        )
    labels = labelled(found.files)
    if not labels:
        raise ModelMissing(f"{name} has no complete GGUF file with a quantisation in its name.")
    file, fit = _choose(repo, labels, found.files)
    gate = ", and its terms must be accepted" if found.gated else ""
    sentence = (
        f"{labels[file]}, of {len(set(labels.values()))} quantisations: "
        f"{_gb(found.files[file].size)} to download, about {_gb(fit.needed)} of memory, and "
        f"{_gb(fit.available)} is free. Licence: {found.licence or 'none given'}{gate}."
    )
    return f"{repo}:{file}", sentence


def _choose(repo: str, labels: Mapping[str, str], files: Mapping[str, GGUF]) -> tuple[str, Fit]:
    sizes = {file: files[file].size for file in labels}
    fits = {file: memory.fit(memory.estimate_by_size(sizes[file], file)) for file in labels}
    fitting = [file for file, fit in fits.items() if fit.verdict != "too large"]
    if not fitting:
        least = min(labels, key=lambda file: sizes[file])
        raise ModelError(
            f"Nothing of {repo} fits: the smallest, {labels[least]}, takes about "
            f"{_gb(fits[least].needed)} of memory, and {_gb(fits[least].available)} is free. "
            f"To fetch it anyway: specchat models pull {repo}:{labels[least]}"
        )
    ranks = {label: rank for rank, label in enumerate(ORDER)}
    chosen = min(fitting, key=lambda file: (ranks.get(labels[file], len(ORDER)), sizes[file], file))
    return chosen, fits[chosen]


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
