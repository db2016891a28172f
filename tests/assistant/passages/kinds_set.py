"""A table of 80 questions and 20 tasks to a folder of 42 kinds of files."""

import asyncio
import base64
import itertools
import os
import random
import re
import tempfile
import unicodedata
from pathlib import Path
from typing import NamedTuple

from models.files.places import cache_dir
from tests.assistant.passages.asked_set import hits
from tests.assistant.passages.indexes import updated
from tests.assistant.passages.papers import marked_docx, notebook, pdf

DATA = Path(__file__).with_name("kinds")
NAMES = ("Abel", "Brandt", "Castell", "Dorn", "Eklund", "Ferrer", "Gallo", "Holm", "Ivers", "Kovac")
GOODS = ("Bolzen", "Dichtung", "Feder", "Gabel", "Hebel", "Keil", "Lager")


class Case(NamedTuple):
    """A line of questions.txt."""

    name: str
    needed: tuple[str, ...]  # what a passage of the file must contain
    unwanted: str  # what none may contain
    text: str

    def is_right(self, passages: list[tuple[str, str]]) -> bool:
        """Whether one of these passages, each with its file, is the wanted one."""
        own = [text for name, text in passages if name == self.name]
        fits = any(all(each in text for each in self.needed) for text in own)
        return fits and not (self.unwanted and any(self.unwanted in text for text in own))


def cases() -> list[Case]:
    """Return the questions and tasks, in their order."""
    rows = list[Case]()
    for line in (DATA / "questions.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            name, needed, text = map(str.strip, line.split(" | "))
            needed, _, unwanted = needed.partition(" not ")
            rows.append(Case(name, tuple(needed.split(" & ")), unwanted, text))
    return rows


def _row(template: str, n: int) -> str:
    """Return row `n` of a table, which follows from its number alone."""
    price = f"{n * 731 % 9000 / 100 + 15:.2f}"
    return template.format(
        n=n, a=n * 37 % 89 + 4, b=n * 53 % 47 + 3, c=n * 29 % 23 + 1, d=n * 7 % 9 + 1, o=n % 3,
        e=n * 61 % 1900 + 40, x=n * 83 % 4700 + 11, y=1990 + n * 13 % 31, h=f"{n * 5 % 24:02}",
        i=f"{(n * 5 + 7) % 24:02}", m=f"{n * 17 % 60:02}", p=price, k=price.replace(".", ","),
        w=NAMES[n % len(NAMES)], v=GOODS[n * 3 % len(GOODS)],
    ).replace("\\n", "\n")  # fmt: skip


def _expanded(text: str) -> str:
    """Return a file with its generated rows and images."""
    count = itertools.count(1)

    def rows(line: re.Match[str]) -> str:
        return "\n".join(_row(line[2], next(count)) for _ in range(int(line[1])))

    def image(size: re.Match[str]) -> str:
        return base64.b64encode(random.Random(1).randbytes(int(size[1]))).decode()

    text = re.sub("(?m)^@rows ([0-9]+) (.*)", rows, text).replace("¬", "\u00ad")
    return re.sub("@base64 ([0-9]+)", image, text)


def _pdf(text: str) -> bytes:
    return pdf(*text.strip().replace("\n@column\n", "\f").split("\n@page\n"))


def write(folder: Path) -> None:
    """Write the files."""
    made = {".docx": marked_docx, ".ipynb": notebook, ".pdf": _pdf}
    for part in (DATA / "folder.txt").read_text("utf-8").split("=== ")[1:]:
        head, _, text = part.partition("\n")
        name, _, form = head.partition(" | ")
        text = unicodedata.normalize("NFD" if form == "nfd" else "NFC", _expanded(text))
        text = text.replace("\n", "\r\n") if form == "crlf" else text
        encoding = form if form in ("windows-1252", "utf-16") else "utf-8"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        maker = made.get(Path(name).suffix)
        (folder / name).write_bytes(maker(text) if maker else text.encode(encoding))


async def answers(folder: Path) -> dict[Case, list[tuple[str, str]]]:
    """Write the folder and index it; return the passages, with their files, for each case."""
    write(folder)
    await updated(folder, cache_dir() / "passages")
    name = f"{folder}/"
    return {
        each: [(hit.name.removeprefix(name), hit.text) for hit in await hits(folder, (each.text,))]
        for each in cases()
    }


def main() -> None:
    """Print what is wrong."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["SPECCHAT_HOME"] = home
        results = asyncio.run(answers(Path(home).resolve() / "folder"))
    for each, passages in results.items():
        if not each.is_right(passages):
            print(f"{each.name}: {each.text} ->", *(name for name, _ in passages))


if __name__ == "__main__":
    main()
