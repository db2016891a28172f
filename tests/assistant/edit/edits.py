"""Edits of the files in `files/`, a line each: file, lines, what comes in their place, and so on.

In it ⏎ is a new line and → a tab; nothing deletes the lines.
"""

from collections.abc import Iterator
from pathlib import Path

from assistant.edit.proposals import ProposedFile, proposals
from assistant.store.values import Attachment, StoredMessage

HERE = Path(__file__).parent


def source(name: str) -> list[str]:
    """Return the lines of a file."""
    return (HERE / "files" / f"{name}.txt").read_text().rstrip("\n").split("\n")


def edits(table: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield of each edit the row, and the lines of the file before and after."""
    for row in (HERE / f"{table}.txt").read_text().rstrip("\n").split("\n"):
        name, *changes = row.split("\t")
        old = source(name)
        new = list(old)
        for where, text in reversed([*zip(changes[::2], changes[1::2], strict=True)]):
            first, last = map(int, where.split("-"))
            new[first - 1 : last] = text.replace("→", "\t").split("⏎") if text else []
        yield row, old, new


def proposed(answer: str, *attachments: Attachment) -> list[ProposedFile]:
    """Return the files that an answer proposes."""
    question = StoredMessage(1, None, "user", "Why?", 0.0, "complete", attachments=attachments)
    return proposals(StoredMessage(2, 1, "assistant", answer, 0.0, "complete"), [question])
