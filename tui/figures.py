"""The figures of an answer, as everybody is told them."""

from assistant.events import Stats


def figures(stats: Stats) -> list[str]:
    """Return the figures of an answer, the count of its tokens first; none if it has none."""
    if not stats.generated_tokens:
        return []
    parts = [f"{stats.generated_tokens:,} tokens", f"{stats.tokens_per_s:.1f} tokens/s"]
    if stats.acceptance_rate is not None:
        parts.append(f"{stats.acceptance_rate:.0%} of drafts accepted")
    parts.append(f"{stats.tokens_per_eval:.2f} tokens/evaluation")
    return parts
