"""A table of 120 questions to a folder in nine languages, and 20 that it cannot answer."""

import asyncio
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from assistant.session.folder_retriever import FolderRetriever
from assistant.settings.settings import Settings
from assistant.store.values import Attachment, StoredMessage
from models.files.places import cache_dir
from tests.assistant.passages.indexes import updated
from tests.assistant.session.scripted_session import MODEL

DATA = Path(__file__).with_name("asked")
DAY_S, NOW_S = 86_400, 1_790_000_000
MOST = 5


class Question(NamedTuple):
    """A line of questions.txt."""

    kind: str
    files: frozenset[str]  # all of which are to be among the passages
    messages: tuple[str, ...]  # of a dialogue, the question last
    was_seen: bool  # while the search was tuned

    def is_right(self, names: list[str]) -> bool:
        """Whether these files, in which passages were found, are what a user wants to see."""
        return self.files <= {*names} if names else self.kind in ("none", "foreign")


def questions() -> list[Question]:
    """Return the questions, in their order."""
    counts, rows = defaultdict[str, int](int), list[Question]()
    for line in (DATA / "questions.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            kind, files, text = map(str.strip, line.split("|"))
            counts[kind] += 1
            messages = tuple(text.split(" // "))
            rows.append(Question(kind, frozenset(files.split()), messages, counts[kind] % 2 == 1))
    return rows


def write(folder: Path) -> None:
    """Write the files, with their ages."""
    for part in (DATA / "folder.txt").read_text("utf-8").split("=== ")[1:]:
        head, _, text = part.partition("\n")
        name, _, days = head.partition(" | ")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        os.utime(path, (NOW_S - int(days) * DAY_S,) * 2)


async def hits(folder: Path, messages: Sequence[str]) -> list[Attachment]:
    """Return the five passages that the program finds for the last message, best first."""
    folders = FolderRetriever(lambda event: None, lambda: Settings(about_seconds=60.0))
    model = type(MODEL)("target", "tiny", folder / "no.gguf", 1, 2 * 350 * MOST, 300, 0.0)
    *before, asked = messages
    path = [
        StoredMessage(at + 1, at or None, "assistant" if at % 2 else "user", text, 0.0, "complete")
        for at, text in enumerate(before)
    ]
    (_, *passages), _ = await folders.find(asked, [Attachment(f"{folder}/", "")], path, model)
    return [*reversed(passages)]


async def answers(folder: Path) -> dict[Question, list[str]]:
    """Write the folder and index it; return the files that each question finds."""
    write(folder)
    await updated(folder, cache_dir() / "passages")
    return {
        each: [hit.name.removeprefix(f"{folder}/") for hit in await hits(folder, each.messages)]
        for each in questions()
    }


def main() -> None:
    """Print how many of each kind are right: those tuned on, the others, and what is wrong."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["SPECCHAT_HOME"] = home
        results = asyncio.run(answers(Path(home).resolve() / "folder"))
    for kind in dict.fromkeys(each.kind for each in results):
        halves = [
            [q.is_right(names) for q, names in results.items() if (q.kind, q.was_seen) == (kind, h)]
            for h in (True, False)
        ]
        print(f"{kind:10}", *(f"{sum(half):3} of {len(half):2}" for half in halves))
    for question, names in results.items():
        if not question.is_right(names) and (question.was_seen or "--all" in sys.argv):
            print(question.kind, " // ".join(question.messages), "->", *names)


if __name__ == "__main__":
    main()
