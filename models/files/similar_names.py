"""What a person may have meant by a name that is none: a model that some program has here."""

import re

from models.files.other_programs import stored

_SHORTEST = 3
"""Letters and digits below which a name is part of too many others."""


def alike(name: str) -> str | None:
    """Return what to call the model here whose own name has this one in it; the shortest of them.

    Ollama's `llama3.2` is `ollama:llama3.2:latest` on the command line, LM Studio's and Jan's
    models go by the paths of their files.
    """
    wanted = _plain(name)
    if len(wanted) < _SHORTEST:
        return None
    fitting = [model for model in stored() if wanted in _plain(model.name)]
    nearest = min(fitting, key=lambda model: len(model.name), default=None)
    return nearest.reference if nearest else None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower().removesuffix(".gguf"))
