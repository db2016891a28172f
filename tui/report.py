"""The JSON object that `ask --json` prints."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from assistant.events import ModelInfo, Stats, Token
from models.errors import ModelError
from models.files import checksum
from tui.asking import Outcome
from tui.settings import Settings


def report(outcome: Outcome, settings: Settings) -> dict[str, Any]:
    """Return everything about an answer, as plain values."""
    ready, finished = outcome.ready, outcome.finished
    if ready is None or finished is None:
        raise ModelError("There is no answer to report.")
    return {
        "text": finished.text,
        "stop": str(finished.stop),
        "tokens": [_token(token) for token in outcome.tokens],
        "stats": _stats(finished.stats),
        "target": _model(ready.target),
        "draft": _model(ready.draft) if ready.draft else None,
        "sampling": asdict(settings.sampling),
        "seed": settings.seed,
    }


def _token(token: Token) -> dict[str, Any]:
    return {**asdict(token), "origin": str(token.origin)}


def _stats(stats: Stats) -> dict[str, Any]:
    return {
        **asdict(stats),
        "acceptance_rate": stats.acceptance_rate,
        "tokens_per_eval": stats.tokens_per_eval,
        "tokens_per_s": stats.tokens_per_s,
    }


def _model(model: ModelInfo) -> dict[str, Any]:
    path = Path(model.path)
    digest = checksum.known_sha256(path)
    if digest is None:
        digest = checksum.sha256(path)
        checksum.remember(path, digest)
    return {"name": model.name, "path": model.path, "sha256": digest}
