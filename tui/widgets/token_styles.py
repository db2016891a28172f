"""The style of tokens by origin, with and without colour."""

from collections.abc import Iterable, Mapping

from textual.content import Content

from assistant.events import Origin, Step, Token
from tui.safe import safe

Kind = str
"""An origin; for accepted drafts of another source than the draft model, that source; or GHOST."""
Styles = Mapping[Kind, str]

GHOST: Kind = "ghost"
OTHER: Kind = "other"  # the style of other draft sources
THOUGHT: Kind = "thought"
"""What the target says itself before the answer, and the markers around it."""
BASICS: tuple[Kind, ...] = tuple(Origin)

COLOURED: Styles = {
    Origin.DRAFT: "$text-success on $success-muted",
    "form": "bold $text-secondary on $secondary-muted",
    "edit": "underline2 $text-accent on $accent-muted",
    "suffix": "italic $text-primary on $primary-muted",
    "tail": "italic underline $text-primary on $primary-muted",
    "ngram": "underline $text-accent on $accent-muted",
    OTHER: "bold italic underline $text-secondary on $secondary-muted",
    Origin.RESIDUAL: "bold italic $text-warning",
    Origin.TARGET: "",
    THOUGHT: "$foreground-muted",
    GHOST: "strike $text-error 80%",
}
PLAIN: Styles = {
    Origin.DRAFT: "underline",
    "form": "bold",
    "edit": "underline2",
    "suffix": "italic underline",
    "tail": "italic",
    "ngram": "bold underline",
    OTHER: "bold italic underline",
    Origin.RESIDUAL: "bold reverse",
    Origin.TARGET: "",
    THOUGHT: "dim",
    GHOST: "dim strike",
}
"""Where there are no colours; a line under most of an answer would be too much where there are."""

NAMES: Mapping[Kind, str] = {
    Origin.DRAFT: "right guess",
    "form": "fixed by the form",
    "edit": "kept by the edit",
    "suffix": "copied",
    "tail": "rest of a guess",
    "ngram": "common phrase",
    OTHER: "other guess",
    Origin.RESIDUAL: "correction",
    Origin.TARGET: "not guessed",
    THOUGHT: "thought, not guessed",
    GHOST: "wrong guess",
}

Run = tuple[str, Kind]
PIECE = 2000  # characters of a run from which on it is not made longer


def styles(no_color: bool) -> Styles:
    """Return the styles for a terminal with or without colours."""
    return PLAIN if no_color else COLOURED


def legend(styles: Styles, kinds: Iterable[Kind] = BASICS) -> Content:
    """Return one line that names the styles of those kinds, always in the same order."""
    wanted = set(kinds)
    shown = [Content.styled(NAMES[kind], styles[kind]) for kind in NAMES if kind in wanted]
    return Content(" · ").join(shown)


def kind(token: Token) -> Kind:
    """Return what a token is shown as."""
    if token.origin is not Origin.DRAFT or token.source in (None, "model", "draft"):
        is_plain = token.origin is Origin.TARGET and token.part != "answer"
        return THOUGHT if is_plain else token.origin
    return token.source if token.source in COLOURED else OTHER


def runs_of(step: Step, ghosts: bool) -> list[Run]:
    """Return a round as it is shown: accepted drafts, those thrown away, the token after them."""
    accepted = [token for token in step.tokens if token.origin is Origin.DRAFT]
    rest = [token for token in step.tokens if token.origin is not Origin.DRAFT]
    texts = [safe(ghost.text) for ghost in step.ghosts] if ghosts else []
    # Struck through, without characters that move lines.
    thrown = [(text.replace("\n", "⏎").replace("\t", "⇥"), GHOST) for text in texts]
    return [*map(_run, accepted), *thrown, *map(_run, rest)]


def extend(runs: list[Run], more: Iterable[Run]) -> None:
    """Append runs, joining neighbours of one kind so that a long answer has few spans."""
    for text, kind in more:
        if not text:
            continue
        if runs and runs[-1][1] == kind and len(runs[-1][0]) < PIECE:
            runs[-1] = (runs[-1][0] + text[:PIECE], kind)
            text = text[PIECE:]
        runs.extend((text[i : i + PIECE], kind) for i in range(0, len(text), PIECE))


def styled(runs: Iterable[Run], styles: Styles) -> Content:
    """Return the runs as text that can be shown."""
    return Content.assemble(*((text, styles[kind]) for text, kind in runs))


def _run(token: Token) -> Run:
    return safe(token.text), kind(token)
