"""Lists the text a user may read: `python -m tests.tools.strings [KIND ...]`, all by default.

Kinds: messages (string literals of the program), docstrings, comments, tests (their names), pages
(Markdown).
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from tests import ROOT

PROGRAM = ("models", "assistant", "tui")
STRING_OR_COMMENT = re.compile(r'"""(?s:.*?)"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(#.*)')
KINDS = ("messages", "docstrings", "comments", "tests", "pages")


@dataclass(frozen=True, slots=True)
class Text:
    """One piece of text and where it is written; {…} stands for a value filled in later."""

    kind: str
    path: str
    line: int
    words: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.words}"


def texts() -> Iterator[Text]:
    """Yield every text of the project, file by file."""
    for folder in (*PROGRAM, "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield from of_module(path.read_text(), path.relative_to(ROOT).as_posix())
    for path in sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))):
        yield from of_page(path.read_text(), path.relative_to(ROOT).as_posix())


def of_module(source: str, path: str) -> Iterator[Text]:
    """Yield the texts of one module: string literals of the program, names of tests."""
    tree = ast.parse(source)
    inside: set[int] = set()
    for node in ast.walk(tree):
        if id(node) in inside:
            continue
        match node:
            case ast.Expr(value=ast.Constant(value=str(words)) as held):
                inside.add(id(held))
                yield Text("docstrings", path, node.lineno, words)
            case ast.JoinedStr() | ast.Constant(value=str()) if path.startswith(PROGRAM):
                inside.update(map(id, (node, *getattr(node, "values", ()))))
                if is_read(words := written(node)):
                    yield Text("messages", path, node.lineno, words)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                if name.startswith("test_"):
                    yield Text("tests", path, node.lineno, name.replace("_", " "))
    for match in STRING_OR_COMMENT.finditer(source):
        if match[1]:
            yield Text("comments", path, source.count("\n", 0, match.start()) + 1, match[1])


def of_page(source: str, path: str) -> Iterator[Text]:
    """Yield the lines of one Markdown page, without its code."""
    code = False
    for number, line in enumerate(source.splitlines(), 1):
        code ^= line.lstrip().startswith("```")
        if not code and line.strip():
            yield Text("pages", path, number, re.sub(r"`[^`]*`", "`…`", line))


def written(node: ast.AST) -> str:
    match node:
        case ast.JoinedStr(values=values):
            return "".join(map(written, values))
        case ast.Constant(value=str(words)):
            return words
        case _:
            return "{…}"


def is_read(words: str) -> bool:
    """Return whether a literal looks like language: several words, or one with a capital."""
    return bool(re.search(r"[A-Za-z,.:;] +[A-Za-z{(]|[}…] [a-z]|^[A-Z][a-z]+[.:?!]?$", words))


if __name__ == "__main__":
    chosen = sys.argv[1:] or KINDS
    for text in texts():
        if text.kind in chosen:
            print(text)
