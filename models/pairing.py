"""Whether a draft's vocabulary fits a target's: token by token, padding aside."""

from typing import Protocol

_SHOWN = 40  # characters of a token


class Vocabulary(Protocol):
    """The tokens of a model, by their numbers."""

    size: int

    def text(self, token: int) -> str:
        """Return the name of a token."""
        ...

    def is_unused(self, token: int) -> bool:
        """Say whether a token is padding."""
        ...


def mismatch(target: Vocabulary, draft: Vocabulary) -> str | None:
    """Return why the vocabularies do not match, naming the first token that differs, or None.

    A token that only one of them uses is padding, whatever its number: it is never proposed, or
    never shown to the draft. Only a token with two meanings is refused.
    """
    for token in range(min(target.size, draft.size)):
        ours, theirs = target.text(token), draft.text(token)
        if ours != theirs and not (target.is_unused(token) or draft.is_unused(token)):
            return (
                f"token {token} is {_quoted(ours)} in the target and {_quoted(theirs)} in the draft"
            )
    larger = max(target, draft, key=lambda vocab: vocab.size)
    for token in range(min(target.size, draft.size), larger.size):
        if not larger.is_unused(token):
            role = "target" if larger is target else "draft"
            return f"token {token}, {_quoted(larger.text(token))}, is in the {role} alone"
    return None


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
