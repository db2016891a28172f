"""80 questions and 20 tasks to a folder of 42 kinds of files, as a table."""

import asyncio
import base64
import os
import random
import re
import sys
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
    digits = {"a": n * 37 % 89 + 4, "b": n * 53 % 47 + 3, "c": n * 29 % 23 + 1, "d": n * 7 % 9 + 1}
    more = {"o": n % 3, "e": n * 61 % 1900 + 40, "x": n * 83 % 4700 + 11, "y": 1990 + n * 13 % 31}
    time = {"h": f"{n * 5 % 24:02}", "i": f"{(n * 5 + 7) % 24:02}", "m": f"{n * 17 % 60:02}"}
    price = f"{n * 731 % 9000 / 100 + 15:.2f}"
    words = {"w": NAMES[n % len(NAMES)], "v": GOODS[n * 3 % len(GOODS)]}
    words |= {"p": price, "k": price.replace(".", ",")}
    return template.format(n=n, **digits, **more, **time, **words).replace("\\n", "\n")


def _expanded(text: str) -> str:
    """Return a file with its generated rows and images."""
    chance, lines, count = random.Random(text), list[str](), 0
    for line in text.split("\n"):
        if line.startswith("@rows "):
            _, many, template = line.split(" ", 2)
            lines += [_row(template, count + at) for at in range(1, int(many) + 1)]
            count += int(many)
        else:
            count += 1 if re.match(r"T-|71,", line) else 0
            lines.append(line)

    def image(size: re.Match[str]) -> str:
        return base64.b64encode(chance.randbytes(int(size[1]))).decode()

    text = re.sub("@base64 ([0-9]+)", image, "\n".join(lines))
    return re.sub("(?<=@image )([0-9]+)", image, text).replace("¬", "\u00ad")


def content(name: str, text: str, form: str) -> bytes:
    """Return the bytes of a file that folder.txt describes."""
    text = unicodedata.normalize("NFD" if form == "nfd" else "NFC", _expanded(text))
    made = {
        ".docx": marked_docx,
        ".ipynb": notebook,
        ".pdf": lambda text: pdf(*text.strip().replace("\n@column\n", "\f").split("\n@page\n")),
    }.get(Path(name).suffix)
    if made:
        return made(text)
    encoding = form if form in ("latin-1", "utf-16") else "utf-8"
    if encoding == "latin-1":
        encoding = "windows-1252"
    return (text.replace("\n", "\r\n") if form == "crlf" else text).encode(encoding)


def write(folder: Path) -> None:
    """Write the files."""
    for part in (DATA / "folder.txt").read_text("utf-8").split("=== ")[1:]:
        head, _, text = part.partition("\n")
        name, _, form = head.partition(" | ")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content(name, text, form))


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
    """Print how many questions and tasks are right, how many find nothing, and what is wrong."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["SPECCHAT_HOME"] = home
        results = asyncio.run(answers(Path(home).resolve() / "folder"))
    for kind, part in ("questions", [*results.items()][:80]), ("tasks", [*results.items()][80:]):
        right = sum(each.is_right(passages) for each, passages in part)
        nothing = sum(not passages for _, passages in part)
        print(f"{kind:10}{right:3} of {len(part)}, nothing {nothing}")
    for each, passages in results.items():
        if not each.is_right(passages):
            print(f"{each.name}: {each.text} ->", *(name for name, _ in passages))
            if "--texts" in sys.argv:
                print(*(text for name, text in passages if name == each.name), sep="\n---\n")


if __name__ == "__main__":
    main()
