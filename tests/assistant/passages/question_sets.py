"""Questions to two folders: 152 to texts in nine languages, and 100 to 42 kinds of files.

Lines at odd places of a kind in the first table were tuned on, the others were not looked at.
"""

import base64
import itertools
import os
import random
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from assistant.session.folder_retriever import FolderRetriever
from assistant.settings.settings import Settings
from assistant.store.values import Attachment, StoredMessage
from models.files.places import cache_dir
from tests.assistant.passages.indexes import updated
from tests.assistant.passages.papers import docx, notebook, pdf
from tests.assistant.session.scripted_session import MODEL

HERE = Path(__file__).parent
DAY_S, NOW_S = 86_400, 1_790_000_000
MOST = 5
NAMES = ("Abel", "Brandt", "Castell", "Dorn", "Eklund", "Ferrer", "Gallo", "Holm", "Ivers", "Kovac")
GOODS = ("Bolzen", "Dichtung", "Feder", "Gabel", "Hebel", "Keil", "Lager")


def questions(table: str) -> Iterator[list[str]]:
    """Yield the rows of a table: two fields on the answer, and the question."""
    for line in (HERE / table / "questions.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            yield [*map(str.strip, line.split(" |"))]


def _files(table: str, folder: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield the path of each file, what its head says of it, and its text."""
    for part in (HERE / table / "folder.txt").read_text("utf-8").split("=== ")[1:]:
        head, _, text = part.partition("\n")
        name, _, note = head.partition(" | ")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        yield folder / name, note, text


def write_asked(folder: Path) -> None:
    """Write the texts in nine languages, with their ages in days."""
    for path, days, text in _files("asked", folder):
        path.write_text(text, "utf-8")
        os.utime(path, (NOW_S - int(days) * DAY_S,) * 2)


def write_kinds(folder: Path) -> None:
    """Write the files of many kinds, some in another encoding."""
    made = {".docx": docx, ".ipynb": notebook, ".pdf": _pdf}
    for path, form, text in _files("kinds", folder):
        text = unicodedata.normalize("NFD" if form == "nfd" else "NFC", _expanded(text))
        text = text.replace("\n", "\r\n") if form == "crlf" else text
        encoding = form if form in ("windows-1252", "utf-16") else "utf-8"
        maker = made.get(path.suffix)
        path.write_bytes(maker(text) if maker else text.encode(encoding))


def _pdf(text: str) -> bytes:
    return pdf(*text.strip().replace("\n@column\n", "\f").split("\n@page\n"))


def _expanded(text: str) -> str:
    """Return a file with its generated rows and images."""
    count = itertools.count(1)

    def rows(line: re.Match[str]) -> str:
        return "\n".join(_row(line[2], next(count)) for _ in range(int(line[1])))

    def image(size: re.Match[str]) -> str:
        return base64.b64encode(random.Random(1).randbytes(int(size[1]))).decode()

    text = re.sub("(?m)^@rows ([0-9]+) (.*)", rows, text).replace("¬", "\u00ad")
    return re.sub("@base64 ([0-9]+)", image, text)


def _row(template: str, n: int) -> str:
    """Return row `n` of a table, which follows from its number alone."""
    price = f"{n * 731 % 9000 / 100 + 15:.2f}"
    return template.format(
        n=n, a=n * 37 % 89 + 4, b=n * 53 % 47 + 3, c=n * 29 % 23 + 1, d=n * 7 % 9 + 1, o=n % 3,
        e=n * 61 % 1900 + 40, x=n * 83 % 4700 + 11, y=1990 + n * 13 % 31, h=f"{n * 5 % 24:02}",
        i=f"{(n * 5 + 7) % 24:02}", m=f"{n * 17 % 60:02}", p=price, k=price.replace(".", ","),
        w=NAMES[n % len(NAMES)], v=GOODS[n * 3 % len(GOODS)],
    ).replace("\\n", "\n")  # fmt: skip


async def index(folder: Path) -> None:
    """Index a folder where the program looks for its index."""
    await updated(folder, cache_dir() / "passages")


async def hits(folder: Path, messages: Sequence[str]) -> list[tuple[str, str]]:
    """Return the five passages that the program finds for the last message, best first.

    Each is given as the name of its file and its text.
    """
    folders = FolderRetriever(lambda event: None, lambda: Settings(about_seconds=60.0))
    model = type(MODEL)("target", "tiny", folder / "no.gguf", 2 * 350 * MOST)
    *path, question = [
        StoredMessage(at + 1, at or None, "assistant" if at % 2 else "user", text, 0.0, "complete")
        for at, text in enumerate(messages)
    ]
    question = replace(question, attachments=(Attachment(f"{folder}/", ""),))
    (_, *passages), _ = await folders.find(question, path, model)
    return [(hit.name.removeprefix(f"{folder}/"), hit.text) for hit in passages[: -MOST - 1 : -1]]
