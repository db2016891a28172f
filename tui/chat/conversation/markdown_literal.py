"""Blocks that Markdown would show incompletely are shown as written."""

import re
from collections.abc import Iterator, Sequence

from markdown_it.token import Token

_UNSEEN = re.compile("[\\s\u00ad\u200b-\u200d\u2060-\u2064\ufeff]+")
_CELLS = str.maketrans("", "", "|\\")  # a table takes bars, and backslashes before bars
_ITEMS = ("list_item_open", "tr_open", "th_open", "td_open")  # these may be empty


def visible(text: str) -> str:
    """Return the characters of a text that can be seen."""
    return _UNSEEN.sub("", text)


def text_token(content: str) -> Token:
    """Return an inline token that shows a text as it is."""
    return Token("text", "", 0, content=content)


def literal(content: str) -> list[Token]:
    """Return the inline tokens that show a text as it is, line by line."""
    first, *others = content.split("\n")
    tokens = [text_token(first)]
    for line in others:
        tokens += [Token("softbreak", "br", 0), text_token(line)]
    return tokens


def kept(tokens: Sequence[Token], text: str) -> Iterator[Token]:
    """Yield the tokens of a text, but its source for each block that would not show all of it.

    A rule separates two blocks; elsewhere its characters are shown.
    """
    lines, begin = text.split("\n"), 0
    for end, token in enumerate(tokens, 1):
        if token.level or token.nesting > 0:
            continue
        block, begin = tokens[begin:end], end
        first, last = block[0].map or (0, 0)
        source = lines[first:last]
        lone = token.type == "hr" and end == len(tokens)
        if lone or _is_empty(block) or not _adds_up(block, source):
            yield from _paragraph("\n".join(source).strip(), block[0])
        else:
            yield from _marked(block, source)


def _is_empty(block: Sequence[Token]) -> bool:
    """Return whether a mark in the block has nothing to mark."""
    wanting: list[bool] = []  # of each open container: whether it has no content yet
    for token in block:
        if token.nesting > 0:
            wanting.append(token.type not in _ITEMS)
        elif token.nesting < 0:
            if wanting.pop():
                return True
        elif token.type == "hr" or visible(token.content):
            wanting = [False] * len(wanting)
        elif token.type == "fence":
            return True
    return False


def _adds_up(block: Sequence[Token], source: Sequence[str]) -> bool:
    """Return whether what is shown and its marks are all that the source holds, in its order."""
    types = {token.type for token in block}
    written, told = "".join(source), "".join(_told(block, source))
    if "table_open" in types:
        written, told = written.translate(_CELLS), told.translate(_CELLS)
    rest = iter(visible(told))
    following = next(rest, None)
    for character in visible(written):
        if character == following:
            following = next(rest, None)
        elif character != ">" or "blockquote_open" not in types:
            return False
    return following is None


def _told(block: Sequence[Token], source: Sequence[str]) -> Iterator[str]:
    """Yield contents and marks of a block as they must be in its source."""
    begin = (block[0].map or (0, 0))[0]
    for token in block:
        first, last = token.map or (0, 0)
        match token.type:
            case "hr":
                yield token.markup[1:]  # the parser counts one more
            case "heading_open" | "list_item_open":
                yield token.info + token.markup
            case "inline" | "code_block":
                yield token.content
            case "table_open":
                ruler = source[first - begin + 1].lstrip("> \t")
            case "thead_close":
                yield ruler
            case "fence":
                yield token.markup + token.info + token.content
                if last - first > token.content.count("\n") + 1:  # it is closed
                    yield token.markup


def _marked(block: Sequence[Token], source: Sequence[str]) -> Iterator[Token]:
    """Yield a block whose lists have the model's numbers, and whose tables know their source."""
    begin = (block[0].map or (0, 0))[0]
    for token, following in zip(block, [*block[1:], None], strict=True):
        if token.type == "list_item_open":
            is_empty = following is not None and following.type == "list_item_close"
            if token.info:
                token.info += token.markup
            elif is_empty or token.markup == "+":  # which may be a sum
                token.info = f"{token.markup} "
        if token.type == "table_open" and token.map:
            token.meta["source"] = "\n".join(source[token.map[0] - begin : token.map[1] - begin])
        if token.type == "hr" and token.level:
            yield from _paragraph(token.markup[1:], token)
        else:
            yield token


def _paragraph(content: str, at: Token) -> Iterator[Token]:
    """Yield a paragraph to replace a token."""
    yield Token("paragraph_open", "p", 1, level=at.level, map=at.map)
    inline = Token("inline", "", 0, level=at.level + 1, map=at.map, content=content)
    inline.children = literal(content)
    yield inline
    yield Token("paragraph_close", "p", -1, level=at.level)
