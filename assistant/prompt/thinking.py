"""The markers that families of models write around thoughts."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from assistant.events import Part
from assistant.streamed_text import split

Place = Literal["start", "thought", "answer"]
Segment = tuple[Part, str]


@dataclass(frozen=True, slots=True)
class PartPosition:
    """The state of an answer's text between two pieces of it."""

    place: Place = "start"
    held: str = ""  # its end, which may begin a marker
    fresh: bool = False  # whether it ends with a marker; blanks that follow belong to that

    @property
    def part(self) -> Part:
        """The part of the answer that text belongs to here."""
        return "thought" if self.place == "thought" else "answer"


START = PartPosition()


@dataclass(frozen=True, slots=True)
class Markers:
    """The markers of one family of models: a finite automaton over an answer's text."""

    opens: str  # leads from the start to a thought
    closes: str  # leads from a thought to the answer
    transitions: Mapping[
        Place, Mapping[str, Place]
    ]  # from each place, the places that markers lead to
    signs: tuple[str, ...]  # a template or vocabulary with one of them belongs to this family

    @property
    def texts(self) -> Iterator[str]:
        """All markers."""
        return (text for known in self.transitions.values() for text in known)

    def read(self, at: PartPosition, text: str) -> tuple[PartPosition, list[Segment]]:
        """Take more text; return the new position and the segments that are certain.

        They cover the text held before and this one, except what is held now. At the start a marker
        counts only if nothing but blanks is before it: after that the answer may be about it.
        """
        place, fresh, text = at.place, at.fresh, at.held + text
        segments: list[Segment] = []
        while text:
            written = text.lstrip()
            if fresh and written != text:
                segments.append(("marker", text[: len(text) - len(written)]))
                text = written
                continue
            fresh, (before, marker, rest) = False, split(text, self.transitions[place])
            if place == "start" and (before.strip() or not marker):
                if any(transition.startswith(written) for transition in self.transitions[place]):
                    break
                place = "answer"
                continue
            if before:
                part = "marker" if place == "start" else PartPosition(place).part
                segments.append((part, before))
            text = rest
            if not marker:
                break
            segments.append(("marker", marker))
            place, fresh = self.transitions[place][marker], True
        return PartPosition(place, text, fresh), segments


def _tags(opens: str, closes: str, *, again: bool = False) -> Markers:
    """Return the markers of a thought before the answer; with `again`, of thoughts within it."""
    begins: dict[str, Place] = {opens: "thought"}
    transitions: dict[Place, Mapping[str, Place]] = {
        "start": begins,
        "thought": {closes: "answer"},
        "answer": begins if again else {},
    }
    return Markers(opens, closes, transitions, (closes, opens.rstrip()))


def _channels() -> Markers:
    """Return the markers of gpt-oss, which writes thoughts and answers as messages on channels."""
    analysis, final = "<|channel|>analysis<|message|>", "<|channel|>final<|message|>"
    heads: dict[str, Place] = {analysis: "thought", final: "answer"}
    heads["<|channel|>commentary<|message|>"] = "answer"
    between = ("<|end|>", "<|start|>assistant")
    transitions: dict[Place, Mapping[str, Place]] = {
        "start": heads,
        "thought": {**heads, **dict.fromkeys(between, "thought")},
        "answer": {**heads, **dict.fromkeys(between, "answer")},
    }
    return Markers(analysis, f"<|end|><|start|>assistant{final}", transitions, ("<|channel|>",))


FAMILIES = (
    _channels(),  # gpt-oss
    _tags("<|channel>thought\n", "<channel|>", again=True),  # Gemma 4
    _tags("<seed:think>", "</seed:think>"),  # Seed-OSS
    _tags("[THINK]", "[/THINK]"),  # Magistral
    _tags("◁think▷", "◁/think▷"),  # Kimi
    _tags("<mm:think>", "</mm:think>"),  # MiniMax-M3
    _tags("<|inner_prefix|>", "<|inner_suffix|>"),  # Apertus
    _tags("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    # Qwen3, DeepSeek, SmolLM3, Granite, Phi-4, Hunyuan, GLM, Nemotron, LFM2.5, EXAONE, ...
    _tags("<think>", "</think>"),
)
# Markers that some of them put around the answer itself.
WRAPS = (
    ("<answer>", "</answer>"),
    ("<response>", "</response>"),
    ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
)


NO_MARKERS = Markers("", "", {"start": {}, "thought": {}, "answer": {}}, ())
"""The markers of a model that does not think."""


def find_markers(template: str, is_token: Callable[[str], bool]) -> Markers:
    """Return the markers of the family that a template or vocabulary belongs to."""
    known = ((family, sign) for family in FAMILIES for sign in family.signs)
    signed = (family for family, sign in known if sign in template or is_token(sign))
    found = next(signed, NO_MARKERS)
    wraps = [wrap for pair in WRAPS for wrap in pair if all(each in template for each in pair)]
    if found is NO_MARKERS or not wraps:
        return found
    more: dict[str, Place] = dict.fromkeys(wraps, "answer")
    transitions = {
        place: {**known, **(more if place != "thought" else {})}
        for place, known in found.transitions.items()
    }
    return replace(found, transitions=transitions)
