"""Read Markdown that a model wrote: nothing is lost, hidden, run, or controls the terminal."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import table
from markdown_it.rules_inline import StateInline, emphasis, strikethrough
from markdown_it.token import Token

PORTION, LONGEST_PORTION = 600, 1_800
"""Characters of code after which the next paragraph, or else the next line, begins a new portion:
only the last portion is highlighted again in each round, however long the block of code is.
"""
PIPE = "\ufdd0"
"""Replaces a pipe in code, so that it ends no cell of a table; `safe` leaves it in no text."""
_CODE, _BARE_PIPE = re.compile(r"(?<!`)`[^`\n]+`(?!`)"), re.compile(r"(?<!\\)\|")
_UNSEEN = re.compile("[\\s\u00ad\u200b-\u200d\u2060-\u2064\ufeff]+")
_DRAWN = {"blockquote_open": ">", "table_open": "|\\-:"}
"""Characters of the source that a quote and a table replace by drawn ones."""
_LISTS = ("bullet_list_open", "ordered_list_open", "bullet_list_close", "ordered_list_close")
_NAME = re.compile(r"_+[^\W_][\w.]*_")
_BEFORE = frozenset("([{<>|\"'“‘«„‚—–-:;,")
"""Characters that may precede an opening mark, besides spaces and wide characters."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the top level, an item of a list there, or a portion of a code block there."""

    tokens: Sequence[Token]
    first: int
    last: int
    """The lines of the source that it is made of; `last` is exclusive."""
    opening: str = ""
    """The line that opens the code block, for a portion of code that is not the first."""
    is_item: bool = False
    """Whether it is an item of a list."""
    is_table: bool = False

    @property
    def head(self) -> int:
        """The line that ends the block before it; the second one of a table, which has a rule."""
        return self.first + 1 if self.is_table else self.first


def read(text: str) -> list[Block]:
    """Return the blocks of a text without control characters.

    A block that would not show all of its source, except for formatting marks, is not formatted.
    """
    text = _CODE.sub(lambda code: _BARE_PIPE.sub(PIPE, code[0]), text)
    tokens, lines = parser().parse(text), text.split("\n")
    blocks = list[Block]()
    for block in _blocks(tokens):
        first, last = block[0].map or (0, 0)
        is_item, is_table = (block[0].type == kind for kind in ("list_item_open", "table_open"))
        ends_in_rule = block[-1] is tokens[-1] and block[0].type == "hr"  # which divides nothing
        if ends_in_rule or not _is_shown(block, lines[first:last]):
            block = _as_written(lines[first:last], block[0])
        for token in block:
            token.content = token.content.replace(PIPE, "|")
            for child in token.children or ():
                child.content = child.content.replace(PIPE, "|")
        blocks += _divide(Block(block, first, last, "", is_item, is_table), lines)
    return blocks


@cache
def parser() -> MarkdownIt:
    """Return a parser of the Markdown that models write.

    It leaves as text what other parsers hide: links and pictures with their addresses, HTML,
    character references, backslashes, spaces at the ends of lines. A line above a rule is no
    heading. An item of a list is no head of a table: as it streams, it is read by itself. Marks
    such as `**` open only before words, not in a formula, a name or a pattern.
    """
    markdown = MarkdownIt("gfm-like", {"html": False, "linkify": False})
    markdown.disable(["normalize", "reference", "lheading", "escape", "entity"])
    markdown.disable(["autolink", "link", "image", "table"])
    markdown.block.ruler.after("list", "tables", table, {"alt": ["paragraph", "reference"]})
    markdown.inline.ruler.at("newline", _newline)
    markdown.inline.ruler.at("emphasis", _at_words(emphasis.tokenize))
    markdown.inline.ruler.at("strikethrough", _at_words(strikethrough.tokenize))
    return markdown


def _blocks(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the tokens of each block of the top level; those of a list item by item."""
    begin = 0
    for end, token in enumerate(tokens, 1):
        if token.level == 0 and token.type in _LISTS:
            begin = end  # the list itself is not shown, only its items
            continue
        level = 1 if tokens[begin].type == "list_item_open" else 0
        if token.level == level and token.nesting <= 0:  # it closes what the first one opened
            yield tokens[begin:end]
            begin = end


def _divide(block: Block, lines: Sequence[str]) -> Iterator[Block]:
    """Yield the portions of a block of code, or any other block unchanged."""
    token = block.tokens[0]
    if token.type != "fence":
        yield block
        return
    *complete, rest = _portions(token.content)
    opening, first, fence = "", block.first, block.first  # where the line that opens it would be
    for portion in complete:
        last = fence + 1 + portion.count("\n")
        yield Block([replace(token, content=portion, map=[fence, last])], first, last, opening)
        opening, first, fence = lines[block.first].replace(PIPE, "|") + "\n", last, last - 1
    yield Block([replace(token, content=rest, map=[fence, block.last])], first, block.last, opening)


def _portions(code: str) -> list[str]:
    """Divide code at paragraphs; code that is appended changes only the last portion."""
    portions, portion, after_blank = list[str](), "", False
    for line in code.splitlines(keepends=True):
        is_blank = not line.strip()
        begins_paragraph = after_blank and len(portion) >= PORTION and _is_closed(portion)
        if not is_blank and (begins_paragraph or len(portion) >= LONGEST_PORTION):
            portions.append(portion)
            portion = ""
        portion += line
        after_blank = is_blank
    return [*portions, portion]


def _is_closed(code: str) -> bool:
    """Return whether code ends outside of strings and comments of several lines."""
    has_pairs = all(code.count(quotes) % 2 == 0 for quotes in ('"""', "'''"))
    return has_pairs and code.count("/*") == code.count("*/")


def _is_shown(block: Sequence[Token], source: Sequence[str]) -> bool:
    """Return whether a block shows all visible characters of its source, and not marks alone."""
    contents = (part.content for token in block for part in token.children or [token])
    if block[0].type != "hr" and not _visible("".join(contents)):
        return False
    drawn = "".join(_DRAWN.get(token.type, "") for token in block)
    ignored = str.maketrans("", "", drawn)
    shown = "".join(text for token in block for text in _visible_parts(token))
    return _visible(shown).translate(ignored) == _visible("".join(source)).translate(ignored)


def _visible_parts(token: Token) -> Iterator[str]:
    """Yield the content and the marks of a token as they stand in its source."""
    match token.type:
        case "hr":
            yield token.markup[1:]  # the parser counts one more
        case "heading_open":
            yield token.markup
        case "list_item_open" if token.markup != "+":  # a plus may be part of a sum
            yield token.info + token.markup
        case "code_block":
            yield token.content
        case "fence":
            yield token.markup + token.info + token.content
            first, last = token.map or (0, 0)
            if last - first > len(token.content.splitlines()) + 1:  # it is closed
                yield token.markup
        case "inline":
            yield from _sources(token.children or ())


def _sources(children: Iterable[Token]) -> Iterator[str]:
    for child in children:
        if child.type != "code_inline":
            yield child.content or child.markup
        elif _visible(child.content):
            yield child.markup + child.content + child.markup


def _as_written(lines: Sequence[str], at: Token) -> list[Token]:
    """Return a paragraph of unformatted lines, instead of the block that a token begins."""
    children = list[Token]()
    for line in "\n".join(lines).strip("\n").split("\n"):
        children += [Token("softbreak", "br", 0), Token("text", "", 0, content=line)]
    inline = Token("inline", "", 0, level=1, map=at.map, children=children[1:])
    opening = Token("paragraph_open", "p", 1, map=at.map)
    return [opening, inline, Token("paragraph_close", "p", -1)]


def _visible(text: str) -> str:
    return _UNSEEN.sub("", text)


def _newline(state: StateInline, silent: bool) -> bool:
    """Keep the spaces that the next line begins with."""
    if state.src[state.pos] != "\n":
        return False
    if not silent:
        state.push("softbreak", "br", 0).content = "\n"
    state.pos += 1
    return True


def _at_words(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Return a parser's rule, restricted to marks that open where words may begin."""

    def tokenize(state: StateInline, silent: bool) -> bool:
        start, count = state.pos, len(state.delimiters)
        before = state.src[max(0, start - 8) : start].rstrip("*_~")[-1:] or " "
        wide = unicodedata.east_asian_width(before) in "WF"
        opens = before.isspace() or before in _BEFORE or wide
        name = _NAME.match(state.src, start)
        matched = rule(state, silent)
        for mark in state.delimiters[count:]:
            mark.open &= opens and name is None
        return matched

    return tokenize
