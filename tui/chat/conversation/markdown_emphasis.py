"""Which marks in a line are formatting, and which belong to a formula, a name or a pattern."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from tui.chat.conversation.markdown_literal import literal, text_token, visible

_EMPHASIS = ("em_close", "strong_close", "s_close")
_NAME = re.compile(r"[\w.]+")
_BEFORE = frozenset("([{<>|\"'“‘«„‚—–-:;,")
"""What may stand before a mark that opens, besides spaces and scripts that have none."""


def keep_marks(state: StateCore) -> None:
    """A parser rule: turn marks without effect, and lines that would lose something, into text."""
    for token in state.tokens:
        if token.type == "inline":
            token.children = list(_joined(_kept(token)))


def leads(link: Token) -> str:
    """Return where a link or a picture leads, with its title, as the model wrote it."""
    address = str(link.attrs.get("src" if link.type == "image" else "href", ""))
    return f'{address} "{link.attrs["title"]}"' if "title" in link.attrs else address


def _kept(inline: Token) -> list[Token]:
    children, opened = list(inline.children or ()), list[int]()
    for i, child in enumerate(children):
        if child.type == "code_inline" and not visible(child.content):
            children[i] = text_token(_written([child]))
        elif child.nesting > 0:
            opened.append(i)
        elif child.nesting < 0:
            begin = opened.pop()
            if child.type in _EMPHASIS and not _formats(children, begin, i):
                children[begin], children[i] = text_token(child.markup), text_token(child.markup)
    told, lines = _written(children), inline.content.split("\n")
    if list(map(visible, told.split("\n"))) != list(map(visible, lines)):
        return literal(inline.content)
    return list(_indented(children, lines))


def _indented(children: Iterable[Token], lines: Sequence[str]) -> Iterator[Token]:
    """Yield the tokens with the spaces that lines begin with, which the parser leaves out."""
    following = iter(lines[1:])
    for child in children:
        if child.type in ("softbreak", "hardbreak"):
            line = next(following)
            indent = line[: len(line) - len(line.lstrip(" \t"))]
            child = Token("softbreak", "br", 0, content=indent)
        yield child


def _formats(children: Sequence[Token], begin: int, end: int) -> bool:
    """Return whether a pair of marks, such as `**`, stands around words."""
    within = _written(children[begin + 1 : end])
    if not visible(within) or ("_" in children[begin].markup and _NAME.fullmatch(within)):
        return False
    while begin and children[begin - 1].nesting > 0:  # marks that open together
        begin -= 1
    before = _written(children[begin - 1 : begin])[-1:] or " "
    return before.isspace() or before in _BEFORE or unicodedata.east_asian_width(before) in "WF"


def _written(children: Iterable[Token]) -> str:
    """Return what the model wrote for these tokens, as far as they tell."""
    return "".join(_sources(children))


def _sources(children: Iterable[Token]) -> Iterator[str]:
    link = Token("link_open", "a", 1)
    for child in children:
        match child.type:
            case "link_open" | "link_close" if child.markup:  # an address stands for itself
                continue
            case "link_open":
                link = child
                yield "["
            case "link_close":
                yield f"]({leads(link)})"
            case "image":
                yield f"![{child.content}]({leads(child)})"
            case "softbreak" | "hardbreak":
                yield "\n"
            case "code_inline":
                yield child.markup + child.content + child.markup
            case _:
                yield child.content or child.markup


def _joined(children: Iterable[Token]) -> Iterator[Token]:
    """Yield the tokens with texts that follow one another in one, so that addresses are found."""
    for is_text, tokens in groupby(children, key=lambda child: child.type == "text"):
        if not is_text:
            yield from tokens
        elif text := "".join(token.content for token in tokens):
            yield text_token(text)
