"""Reading Markdown that a model wrote: nothing in it may hide, run or command."""

from collections.abc import Iterable, Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tui.safe import safe

LONGEST, MOST_BLOCKS, MOST_CELLS = 60_000, 1200, 600
"""Characters, blocks and table cells up to which a text is shown as Markdown; a screen with more
widgets would freeze for a moment.
"""
PORTION = 40
"""Tokens whose blocks are put on the screen together."""
DEEPEST = 18
"""Levels of lists and quotes; the parser drops what is nested deeper than 20."""


def read(text: str) -> list[Token] | None:
    """Parse a text; None when it is too much to be shown as Markdown. May run on any thread."""
    if len(text) > LONGEST:
        return None
    # HTML is text, and so are definitions of links: they would be read but not shown.
    parser = MarkdownIt("gfm-like", {"html": False}).disable("reference")
    tokens = parser.parse(safe(text))
    cells = sum(token.type in ("td_open", "th_open") for token in tokens)
    if cells > MOST_CELLS or sum(token.nesting >= 0 for token in tokens) - cells > MOST_BLOCKS:
        return None
    if any(token.level >= DEEPEST for token in tokens):
        return None
    for token in tokens:
        _clean(token)
    return tokens


def addresses(tokens: Iterable[Token]) -> list[str]:
    """Return where the links of a text lead, each address once."""
    children = (child for token in tokens for child in token.children or ())
    links = (child for child in children if child.type == "link_open")
    return [*dict.fromkeys(str(link.attrs.get("href", "")) for link in links)]


def portions(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the tokens in whole blocks, a few at a time."""
    portion: list[Token] = []
    for token in tokens:
        portion.append(token)
        if token.level == 0 and token.nesting <= 0 and len(portion) >= PORTION:
            yield portion
            portion = []
    if portion:
        yield portion


def _clean(token: Token) -> None:
    """Make a token harmless: character references may stand for what `safe` would not let by."""
    token.content, token.info = safe(token.content), safe(token.info)
    if token.children:
        token.children = list(_inline(token.children))


def _inline(children: Iterable[Token]) -> Iterator[Token]:
    """Yield inline tokens in which every link says where it leads, and pictures are words."""
    target, words = "", ""
    for child in children:
        child.content = safe(child.content)
        if child.type == "image":
            child = _text(f"[picture: {child.content}] ({safe(str(child.attrs.get('src', '')))})")
        elif child.type == "link_open":
            target, words = safe(str(child.attrs.get("href", ""))), ""
            child.attrs["href"] = target
        words += child.content
        yield child
        if child.type == "link_close" and not _says(words, target):
            yield _text(f" ({target})")


def _says(words: str, target: str) -> bool:
    """Return whether the words of a link are its target."""
    return target in (words, f"mailto:{words}", f"http://{words}", f"https://{words}")


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
