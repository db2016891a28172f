"""By what a model turns a conversation into tokens, as digests that can be compared."""

import hashlib
from dataclasses import dataclass, fields

from models.gguf.header import Header
from models.gguf.values import Length
from models.gguf.vocabulary import TOKENS

_MERGES = "tokenizer.ggml.merges"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Digests of the parts of a file that decide what its model is asked; None where it lacks one.

    They are small beside the weights, and easily changed without them.
    """

    tokens: str | None
    merges: str | None
    template: str | None  # sha256

    def differing(self, other: "Fingerprint") -> tuple[str, ...]:
        """Return what the parts are called in which two files differ."""
        return tuple(
            _NAMES[field.name]
            for field in fields(self)
            if getattr(self, field.name) != getattr(other, field.name)
        )


_NAMES = {"tokens": "its vocabulary", "merges": "its merges", "template": "its chat template"}


def fingerprint(header: Header) -> Fingerprint:
    """Return the fingerprint of a file whose header was read."""
    template = header.template
    digest = None if template is None else hashlib.sha256(template.encode()).hexdigest()
    return Fingerprint(_digest(header, TOKENS), _digest(header, _MERGES), digest)


def _digest(header: Header, key: str) -> str | None:
    value = header.metadata.get(key)
    return value.digest if isinstance(value, Length) else None
