"""The facts about a token of an answer, or about a rejected draft token, as lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

from textual.content import Content
from textual.geometry import Size

from assistant.events import Alternative, Origin, RejectedToken, Step, Token, Trace, acceptance_prob
from tui.chat.panel import SOURCES
from tui.formatting import MISSING, bar
from tui.safe import safe
from tui.text.token_styles import NAMES
from tui.widgets.lines import MUTED, pair, paragraph

UNTESTED = "A guess, never checked: an earlier one was wrong."
THROWN_AWAY = "A wrong guess: the answer continued without it."
PARTS = {
    "thought": "It is part of the thought before the answer.",
    "marker": "It marks where a thought or a call begins or ends.",
    "call": "It is part of a tool call.",
}
MIN_HEIGHT_WITH_BLANKS = 20
"""Height in lines from which the sections are separated by blank lines."""
NONE_KEPT = "No alternatives were kept with this answer."

VISIBLE = str.maketrans({" ": "·", "\n": "↵", "\t": "→"})
NO_TEXT = "∅"
"""Shown for a token without text: it is part of a character."""


@dataclass(frozen=True, eq=False)
class InspectedToken:
    """A token or a rejected draft token, with its round."""

    item: Token | RejectedToken
    step: Step
    round: int

    @cached_property
    def text(self) -> str:
        """The text on the page, line breaks visible; a rejected token breaks no line."""
        breaks = "↵" if isinstance(self.item, RejectedToken) else "↵\n"
        return safe(self.item.text).replace("\n", breaks).replace("\t", "→   ") or NO_TEXT

    @property
    def tested(self) -> RejectedToken | None:
        """The draft token that was rejected at this position, if any."""
        if isinstance(self.item, RejectedToken):
            return self.item if self.item.target_prob is not None else None
        ghost = self.step.rejected[0] if self.step.rejected else None
        replaces = ghost and ghost.position == self.item.position and ghost.target_prob is not None
        return ghost if replaces and self.item is self.step.tokens[-1] else None

    @property
    def is_rejected(self) -> bool:
        """Whether it is a draft token that the target rejected."""
        return isinstance(self.item, RejectedToken) and self.tested is not None

    @property
    def replacement(self) -> Token | None:
        """The token that replaced this one, if it is the first rejected token of its round."""
        last = self.step.tokens[-1] if self.step.tokens else None
        return last if last and last.position == self.item.position else None


def visible(text: str) -> str:
    """Return a text with whitespace made visible, and a sign for an empty one."""
    return safe(text.translate(VISIBLE)) or NO_TEXT


def entries(trace: Trace) -> tuple[InspectedToken, ...]:
    """Return all tokens: of each round the accepted, the rejected, then those sampled."""
    rounds = ((number, step, item) for number, step in enumerate(trace, 1) for item in step.items)
    return tuple(InspectedToken(item, step, number) for number, step, item in rounds)


def facts(
    entry: InspectedToken, number: int, total: int, size: Size, source: str = ""
) -> list[Content]:
    """Return the facts about entry `number` of `total`, the most probable tokens last.

    `source` is a sentence on the passages that it may be copied from.
    """
    width, blank = size.width, [Content("")] if size.height >= MIN_HEIGHT_WITH_BLANKS else []
    number_of_total = Content.styled(f"id {entry.item.id} · {number:,} of {total:,}", MUTED)
    name = Content.styled(f" {visible(entry.item.text)} ", "bold $text-accent on $boost")
    lines = [
        pair(name, number_of_total, width),
        *blank,
        *paragraph(_origin(entry), width, ""),
        *paragraph(PARTS.get(getattr(entry.item, "part", ""), ""), width),
        *paragraph(_position(entry), width),
        *paragraph(source, width),
        *blank,
        *_test(entry, width),
        *blank,
    ]
    return [*lines, *_alternatives(entry, width)[: max(size.height - len(lines), 2)]]


def probability(value: float) -> str:
    """Return a probability with three decimals, or two digits when it is tiny."""
    return f"{value:.3f}" if value == 0 or value >= 0.001 else f"{value:.1e}"


def decision(tested: Token | RejectedToken, accepted: bool) -> str:
    """Return the inequality that decided on a draft token, or why there was none."""
    word = "right" if accepted else "wrong"
    if tested.uniform is None and tested.threshold is None:
        which = "the same" if accepted else "another"
        return f"{word}: with this seed the answer has {which} token here"
    if tested.uniform is None:  # the block rule decided by a later one
        reason = "kept with what follows it" if accepted else "the answer cannot have it here"
        return f"{word}: {reason}"
    sign, uniform = "<" if accepted else "≥", f"uniform {probability(tested.uniform)}"
    if tested.threshold is not None:
        word = "kept up to here" if accepted else "not kept this far"
        return f"{uniform} {sign} threshold {probability(tested.threshold)}: {word}"
    draft, target = probability(tested.draft_prob or 0.0), probability(tested.target_prob or 0.0)
    return f"{uniform} × guesses {draft} {sign} answers {target}: {word}"


def _origin(entry: InspectedToken) -> str:
    item, rejected = entry.item, entry.tested
    if isinstance(item, RejectedToken):
        if rejected is None:
            return UNTESTED
        after = entry.replacement
        return f"Wrong guess: “{visible(after.text)}” came instead." if after else THROWN_AWAY
    name = NAMES[item.origin].capitalize()
    if item.origin is Origin.DRAFT:
        source = item.source or ""
        return f"{name}, from: {SOURCES.get(source, safe(source))}."
    if rejected is not None:
        return f"{name}: it replaces the wrong guess “{visible(rejected.text)}”."
    if item.origin is Origin.RESIDUAL:
        return f"{name}: chosen after a wrong guess."
    if len(entry.step.tokens) > 1:
        return f"{name}: it follows right guesses."
    return f"{name}: no guess was tried here."


def _position(entry: InspectedToken) -> str:
    accepted = sum(token.origin is Origin.DRAFT for token in entry.step.tokens)
    proposed, number = accepted + len(entry.step.rejected), f"{entry.round:,}"
    if not proposed:
        return f"Round {number}, without guesses."
    guesses = "1 guess" if proposed == 1 else f"{proposed} guesses"
    return f"Place {entry.item.position + 1} in round {number}, which had {guesses}."


def _test(entry: InspectedToken, width: int) -> list[Content]:
    item = entry.item
    probs = item.target_prob, item.draft_prob
    target, draft = (MISSING if prob is None else probability(prob) for prob in probs)
    both = _named(("answers", target), ("   guesses", draft))
    accepted = acceptance_prob(item)
    if item.uniform is None or accepted is None:
        return [both, *_verdict(entry, width)]
    chance = _named(("chance", probability(accepted)))
    if item.threshold is not None:
        chance += Content.styled(" unless more is kept", MUTED)
    line = Content.assemble(both, "   ", chance)
    lines = [line] if line.cell_length <= width else [both, chance]
    return [*lines, *_verdict(entry, width)]


def _named(*values: tuple[str, str]) -> Content:
    return Content.assemble(
        *(part for name, value in values for part in ((f"{name} ", MUTED), (value, "bold")))
    )


def _verdict(entry: InspectedToken, width: int) -> list[Content]:
    item = entry.item
    if isinstance(item, Token) and item.origin is Origin.DRAFT:
        return paragraph(decision(item, accepted=True), width, "$text-success")
    ghost = entry.tested
    if ghost is None:
        return []
    whose = "" if ghost is item else f"“{visible(ghost.text)}”: "
    return paragraph(whose + decision(ghost, accepted=False), width, "$text-warning")


def _alternatives(entry: InspectedToken, width: int) -> list[Content]:
    # A rejected token shares the distributions of the token that replaced it.
    rows = entry.item if isinstance(entry.item, Token) else entry.replacement
    if rows is None:
        return []
    if not rows.target_top:
        return paragraph(NONE_KEPT, width)
    column = (width - 2) // 2
    left = _column("answers", rows.target_top, entry.item.id, column)
    right = _column("guesses", rows.draft_top, entry.item.id, column) if rows.draft_top else []
    pairs = zip_longest(left, right, fillvalue=Content(""))
    return [one.truncate(column + 2, pad=True) + other for one, other in pairs]


def _column(heading: str, top: Sequence[Alternative], own: int, width: int) -> list[Content]:
    lines = [Content.styled(f"What {heading}", MUTED)]
    name = max(8, width // 2 - 1)
    bar_cells = max(width - name - 8, 0)
    for alternative in top:
        mark = "▸" if alternative.id == own else " "
        text = Content(f"{mark}{visible(alternative.text)}")
        text = text.truncate(name, ellipsis=True, pad=True)
        share = Content.styled(bar(alternative.prob, bar_cells), "$primary")
        share = share.truncate(bar_cells, pad=True)
        line = Content.assemble(text, " ", share, f"{alternative.prob:>6.1%}")
        lines.append(line.stylize("bold") if alternative.id == own else line)
    return lines
