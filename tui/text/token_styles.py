"""The style of tokens by origin, with and without colour."""

from collections.abc import Iterable, Mapping

from textual.content import Content

from assistant.events import Origin, RejectedToken, Step, Token
from tui.safe import safe

Kind = str
"""An origin, the source of an accepted token that a model did not draft, or GHOST."""
Styles = Mapping[Kind, str]

GHOST: Kind = "ghost"
OTHER: Kind = "other"  # the style of other draft sources
THOUGHT: Kind = "thought"
"""Reasoning text that the target sampled itself, with its markers."""

_KINDS: Mapping[Kind, tuple[str, str, str]] = {
    Origin.DRAFT: ("right guess", "on $success-muted", "underline"),
    "form": ("set by the form", "bold $text-secondary on $secondary-muted", "bold"),
    "edit": ("kept by the edit", "underline2 $text-accent on $accent-muted", "underline2"),
    "suffix": ("copied", "italic $text-primary on $primary-muted", "italic underline"),
    "tail": ("continued copy", "italic underline $text-primary on $primary-muted", "italic"),
    "ngram": ("common phrase", "underline $text-accent on $accent-muted", "bold underline"),
    OTHER: (
        "other guess",
        "bold italic underline $text-secondary on $secondary-muted",
        "bold italic underline",
    ),
    Origin.RESIDUAL: ("correction", "bold italic $text-warning", "bold reverse"),
    Origin.TARGET: ("not guessed", "", ""),
    THOUGHT: ("thought, not guessed", "$foreground-muted", "dim"),
    GHOST: ("wrong guess", "strike $text-error 80%", "dim strike"),
}
"""The name of each kind, its style with colours, and its style without.

With colours, accepted drafts are not underlined: they are most of an answer.
"""
NAMES: Mapping[Kind, str] = {kind: name for kind, (name, _, _) in _KINDS.items()}
COLOURED: Styles = {kind: style for kind, (_, style, _) in _KINDS.items()}
PLAIN: Styles = {kind: style for kind, (_, _, style) in _KINDS.items()}

Run = tuple[str, Kind]


def styles(no_color: bool) -> Styles:
    """Return the styles for a terminal with or without colours."""
    return PLAIN if no_color else COLOURED


def legend(styles: Styles, kinds: Iterable[Kind]) -> Content:
    """Return one line with the names of kinds in their styles, always in the same order."""
    wanted = set(kinds)
    names = [Content.styled(name, styles[kind]) for kind, name in NAMES.items() if kind in wanted]
    return Content(" · ").join(names)


def kind(token: Token | RejectedToken) -> Kind:
    """Return the kind of a token."""
    if isinstance(token, RejectedToken):
        return GHOST
    if token.origin is not Origin.DRAFT or token.source in (None, "model", "draft"):
        is_plain = token.origin is Origin.TARGET and token.part != "answer"
        return THOUGHT if is_plain else token.origin
    return token.source if token.source in COLOURED else OTHER


def runs_of(step: Step, show_rejected: bool) -> list[Run]:
    """Return the runs of a round: accepted drafts, rejected ones if wanted, the last token."""
    tokens = step.items if show_rejected else step.tokens
    return [(_text(token), kind(token)) for token in tokens]


def _text(token: Token | RejectedToken) -> str:
    """Return the text of a token; a rejected one breaks no line."""
    text = safe(token.text)
    is_rejected = isinstance(token, RejectedToken)
    return text.replace("\n", "⏎").replace("\t", "⇥") if is_rejected else text
