"""Whether a draft's vocabulary serves a target: token by token, padding aside."""

from models.llama.vocab import LlamaVocab


def mismatch(target: LlamaVocab, draft: LlamaVocab) -> str | None:
    """Return why the vocabularies do not match, naming the first token that differs, or None.

    A token that only one of them uses is padding, whatever its number: it is never proposed or
    never shown to the draft, and only a token that means different things is refused.
    """
    for token in range(min(target.size, draft.size)):
        ours, theirs = target.text(token), draft.text(token)
        if ours != theirs and not (target.is_unused(token) or draft.is_unused(token)):
            return f"token {token} is {ours!r} in the target and {theirs!r} in the draft"
    larger = max(target, draft, key=lambda vocab: vocab.size)
    for token in range(min(target.size, draft.size), larger.size):
        if not larger.is_unused(token):
            role = "target" if larger is target else "draft"
            return f"token {token}, {larger.text(token)!r}, is in the {role} alone"
    return None
