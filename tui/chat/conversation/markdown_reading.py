"""Read Markdown that a model wrote: nothing is lost, hidden, run, or controls the terminal."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, emphasis, strikethrough
from markdown_it.token import Token

from tui.safe import safe

MAX_CHARACTERS, MAX_BLOCKS, MAX_CELLS = 60_000, 1200, 600
"""Characters, blocks and table cells up to which a text is shown as Markdown; a screen with more
widgets would freeze for a moment.
"""
PORTION = 40
"""Tokens whose blocks are put on the screen together."""
PIPE = "\ufdd0"
"""Stands for a pipe in code, which ends no cell of a table; no text has this noncharacter."""
_CODE, _BARE_PIPE = re.compile(r"(?<!`)`[^`\n]+`(?!`)"), re.compile(r"(?<!\\)\|")
_UNSEEN = re.compile("[\\s\u00ad\u200b-\u200d\u2060-\u2064\ufeff]+")
_DRAWN = {"blockquote_open": ">", "table_open": "|\\-:"}
"""Characters that a quote and a table draw in a way of their own."""
_NAME = re.compile(r"_+[^\W_][\w.]*_")
_BEFORE = frozenset("([{<>|\"'“‘«„‚—–-:;,")
"""What may stand before a mark that opens, besides spaces and scripts that have none."""


def read(text: str) -> list[Token] | None:
    """Parse a text; None when it is too much to be shown as Markdown. May run on any thread.

    Each block shows all of its source, except for marks that format; else it is shown as written.
    """
    if len(text) > MAX_CHARACTERS:
        return None
    text = _CODE.sub(lambda code: _BARE_PIPE.sub(PIPE, code[0]), safe(text))
    tokens, lines, shown = parser().parse(text), text.split("\n"), list[Token]()
    cells = sum(token.type in ("td_open", "th_open") for token in tokens)
    if cells > MAX_CELLS or sum(token.nesting >= 0 for token in tokens) - cells > MAX_BLOCKS:
        return None
    for block in _blocks(tokens):
        first, last = block[0].map or (0, 0)
        lone = block[-1] is tokens[-1] and block[0].type == "hr"  # a rule divides two blocks
        if lone or not _is_shown(block, lines[first:last]):
            block = _as_written("\n".join(lines[first:last]).strip(), block[0])
        for token in block:
            if token.type == "list_item_open" and token.info:
                token.info += token.markup  # of a number
            if token.type == "table_open" and token.map:
                token.meta["source"] = "\n".join(lines[slice(*token.map)]).replace(PIPE, "|")
            token.content = token.content.replace(PIPE, "|")
            for child in token.children or ():
                child.content = child.content.replace(PIPE, "|")
        shown += block
    return shown


def parser() -> MarkdownIt:
    """Return a parser of the Markdown that models write.

    What other parsers read and do not show is text: links and pictures with their addresses, HTML,
    character references, backslashes, spaces at the ends of lines. A line above a rule is no
    heading. Marks such as `**` stand before words, not in a formula, a name or a pattern.
    """
    markdown = MarkdownIt("gfm-like", {"html": False, "linkify": False})
    markdown.disable(["reference", "lheading", "escape", "entity", "autolink", "link", "image"])
    markdown.inline.ruler.at("newline", _newline)
    markdown.inline.ruler.at("emphasis", _careful(emphasis.tokenize))
    markdown.inline.ruler.at("strikethrough", _careful(strikethrough.tokenize))
    return markdown


def portions(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the tokens in whole blocks, a few at a time."""
    portion: list[Token] = []
    for block in _blocks(tokens):
        portion += block
        if len(portion) >= PORTION:
            yield portion
            portion = []
    if portion:
        yield portion


def divided(tokens: list[Token], lines: int) -> tuple[list[Token], list[Token]]:
    """Return the blocks that are complete, and the rest, to which more may be added.

    `lines` is how many lines are complete. Until the first line of a block is, that block may turn
    out to be a part of the one before.
    """
    starts = [i for i, token in enumerate(tokens) if token.level == 0 and token.nesting >= 0]
    begun = [i for i in starts if (tokens[i].map or [0])[0] < lines]
    last = begun[-1] if begun else 0
    return tokens[:last], tokens[last:]


def after(text: str, rest: list[Token]) -> str:
    """Return the text from the line on where the rest of its blocks begins."""
    line = rest[0].map[0] if rest and rest[0].map else 0
    return text.split("\n", line)[line]


def _blocks(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    ends = [i for i, token in enumerate(tokens, 1) if token.level == 0 and token.nesting <= 0]
    return (tokens[begin:end] for begin, end in pairwise([0, *ends]))


def _is_shown(block: Sequence[Token], source: Sequence[str]) -> bool:
    """Return whether contents and marks are all that the source holds, and not marks alone."""
    said = (part.content for token in block for part in token.children or [token])
    if block[0].type != "hr" and not _visible("".join(said)):
        return False
    drawn = "".join(_DRAWN.get(token.type, "") for token in block)
    ignored = str.maketrans("", "", drawn)
    told = "".join(text for token in block for text in _told(token))
    return _visible(told).translate(ignored) == _visible("".join(source)).translate(ignored)


def _told(token: Token) -> Iterator[str]:
    """Yield what a token shows, and its marks, as they must be in its source."""
    match token.type:
        case "hr" if token.level == 0:
            yield token.markup[1:]  # the parser counts one more
        case "heading_open":
            yield token.markup
        case "list_item_open" if token.markup != "+":  # which may be a sum
            yield token.info + token.markup
        case "code_block":
            yield token.content
        case "fence":
            yield token.markup + token.info + token.content
            first, last = token.map or (0, 0)
            if last - first > token.content.count("\n") + 1:  # it is closed
                yield token.markup
        case "inline":
            yield from _sources(token.children or ())


def _sources(children: Iterable[Token]) -> Iterator[str]:
    for child in children:
        match child.type:
            case "code_inline" if not _visible(child.content):
                pass
            case "code_inline":
                yield child.markup + child.content + child.markup
            case _:
                yield child.content or child.markup


def _as_written(content: str, at: Token) -> list[Token]:
    """Return a paragraph that shows a text as it is, instead of the block that a token begins."""
    inline = Token("inline", "", 0, level=1, map=at.map, content=content)
    inline.children = [Token("text", "", 0, content=content)]
    opening = Token("paragraph_open", "p", 1, map=at.map)
    return [opening, inline, Token("paragraph_close", "p", -1)]


def _visible(text: str) -> str:
    """Return the characters of a text that can be seen."""
    return _UNSEEN.sub("", text)


def _newline(state: StateInline, silent: bool) -> bool:
    """Keep the spaces that the next line begins with."""
    if state.src[state.pos] != "\n":
        return False
    if not silent:
        state.push("softbreak", "br", 0).content = "\n"
    state.pos += 1
    return True


def _careful(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Return a rule for marks that open only where words may begin."""

    def tokenize(state: StateInline, silent: bool) -> bool:
        start, count = state.pos, len(state.delimiters)
        before = state.src[max(0, start - 8) : start].rstrip("*_~")[-1:] or " "
        wide = unicodedata.east_asian_width(before) in "WF"
        opens = before.isspace() or before in _BEFORE or wide
        name = _NAME.match(state.src, start)
        found = rule(state, silent)
        for mark in state.delimiters[count:]:
            mark.open &= opens and name is None
        return found

    return tokenize
