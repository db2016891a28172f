"""Read Markdown that a model wrote: nothing is lost, hidden, run, or controls the terminal."""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLink
from markdown_it.token import Token

from tui.chat.conversation.markdown_emphasis import keep_marks, leads
from tui.chat.conversation.markdown_literal import kept, text_token
from tui.safe import safe

MAX_CHARACTERS, MAX_BLOCKS, MAX_CELLS = 60_000, 1200, 600
"""Characters, blocks and table cells up to which a text is shown as Markdown; a screen with more
widgets would freeze for a moment.
"""
PORTION = 40
"""Tokens whose blocks are put on the screen together."""
MAX_DEPTH = 18
"""Levels of lists and quotes; the parser drops what is nested deeper than 20."""


def read(text: str) -> list[Token] | None:
    """Parse a text; None when it is too much to be shown as Markdown. May run on any thread."""
    if len(text) > MAX_CHARACTERS:
        return None
    text = safe(text)
    tokens = parser().parse(text)
    cells = sum(token.type in ("td_open", "th_open") for token in tokens)
    if cells > MAX_CELLS or sum(token.nesting >= 0 for token in tokens) - cells > MAX_BLOCKS:
        return None
    if any(token.level >= MAX_DEPTH for token in tokens):
        return None
    tokens = list(kept(tokens, text))
    for token in tokens:
        if token.children:
            token.children = list(_inline(token.children))
    return tokens


def parser() -> MarkdownIt:
    """Return a parser of the Markdown that models write.

    What other parsers read and do not show is text: HTML, definitions of links, character
    references, backslashes. A line above a rule is no heading.
    """
    markdown = MarkdownIt("gfm-like", {"html": False})
    markdown.disable(["reference", "lheading", "escape", "entity", "autolink"])
    markdown.core.ruler.before("linkify", "keep_marks", keep_marks)
    markdown.normalizeLink = lambda url: url  # type: ignore[method-assign]
    markdown.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    return markdown


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


def _inline(children: Iterable[Token]) -> Iterator[Token]:
    """Yield inline tokens in which every link says where it leads, and pictures are words."""
    link, written, words = Token("link_open", "a", 1), "", ""
    for child in children:
        if child.type == "image":
            child = text_token(f"[picture: {child.content}] ({safe(leads(child))})")
        elif child.type == "link_open":
            link, written, words = child, leads(child), ""
            link.attrs["href"] = safe(normalizeLink(str(link.attrs["href"])))
        words += child.content
        yield child
        if child.type == "link_close" and (target := _target(link, written, words)):
            yield text_token(f" ({target})")


def _target(link: Token, written: str, words: str) -> str:
    """Return where a link leads, as far as its words do not say it."""
    address = str(link.attrs["href"])
    told = [] if _says(words, written) else [safe(written)]
    if not unquote(safe(written)).startswith(unquote(address)):  # letters that look like others
        told.append(address)
    return " = ".join(told)


def _says(words: str, target: str) -> bool:
    """Return whether the words of a link are its target."""
    return target in (words, f"mailto:{words}", f"http://{words}", f"https://{words}")
