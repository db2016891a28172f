"""The title of a conversation until somebody gives it one."""

_LONGEST = 60


def derive(text: str) -> str:
    """Return the first line of a message that says something, shortened at a word."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    # Of a huge line, a little is looked at.
    words = " ".join(line[: 10 * _LONGEST].split())
    if len(words) <= _LONGEST:
        return words
    cut = words[:_LONGEST]
    start, _, _ = cut.rpartition(" ")
    return f"{start if len(start) > _LONGEST // 2 else cut}…"
