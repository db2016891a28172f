"""Thoughts: how models mark them, and which part of an answer each of its tokens belongs to."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

from assistant.events import Part, Token

Place = Literal["start", "thought", "answer"]
Segment = tuple[Part, str]


@dataclass(frozen=True, slots=True)
class PartPosition:
    """Where the text of an answer is."""

    place: Place = "start"
    held: str = ""  # may turn out to begin a marker
    fresh: bool = False  # right after a marker, where blanks belong to it

    @property
    def part(self) -> Part:
        """What is said there."""
        return "thought" if self.place == "thought" else "answer"


@dataclass(frozen=True, slots=True)
class Markers:
    """How a family of models marks its thoughts."""

    opens: str
    closes: str  # leads from a thought to the answer
    leads: Mapping[Place, Mapping[str, Place]]  # what markers lead to, by where they are read
    signs: tuple[str, ...]  # one of them is in the template of each such model, or a token

    @property
    def texts(self) -> Iterator[str]:
        """All markers."""
        return (text for known in self.leads.values() for text in known)

    def read(self, at: PartPosition, text: str) -> tuple[PartPosition, list[Segment]]:
        """Read on; return where that ends, and what the text is.

        The segments are the text that was held and this one, less what is held now. At the start a
        marker counts only before all else: later on, somebody may be talking about it.
        """
        place, fresh, text = at.place, at.fresh, at.held + text
        segments: list[Segment] = []
        while text:
            blank = len(text) - len(text.lstrip())
            if fresh and blank:
                segments.append(("marker", text[:blank]))
                text = text[blank:]
                continue
            fresh, (end, marker) = False, self._first(place, text)
            if place == "start" and not (marker and end == blank):
                if any(each.startswith(text[blank:]) for each in self.leads[place]):
                    break
                place = "answer"
                continue
            end -= 0 if marker else self._suspicious(place, text)
            if end:
                part = "marker" if place == "start" else PartPosition(place).part
                segments.append((part, text[:end]))
            text = text[end + len(marker) :]
            if not marker:
                break
            segments.append(("marker", marker))
            place, fresh = self.leads[place][marker], True
        return PartPosition(place, text, fresh), segments

    def _first(self, place: Place, text: str) -> tuple[int, str]:
        """Return where the first marker is, and which; the end of the text where there is none."""
        found = [(at, each) for each in self.leads[place] if (at := text.find(each)) >= 0]
        return min(found, default=(len(text), ""))

    def _suspicious(self, place: Place, text: str) -> int:
        """Return the length of the longest end of a text that begins a marker."""
        return max(
            (n for each in self.leads[place] for n in range(len(each)) if text.endswith(each[:n])),
            default=0,
        )


def _tags(opens: str, closes: str, *, again: bool = False) -> Markers:
    """Return markers around a thought that comes first; `again` if more may come later."""
    begins: dict[str, Place] = {opens: "thought"}
    leads: dict[Place, Mapping[str, Place]] = {
        "start": begins,
        "thought": {closes: "answer"},
        "answer": begins if again else {},
    }
    return Markers(opens, closes, leads, (closes, opens.rstrip()))


def _channels() -> Markers:
    """Return the markers of gpt-oss, whose answers are messages on channels."""
    analysis, final = "<|channel|>analysis<|message|>", "<|channel|>final<|message|>"
    heads: dict[str, Place] = {analysis: "thought", final: "answer"}
    heads["<|channel|>commentary<|message|>"] = "answer"
    between = ("<|end|>", "<|start|>assistant")
    leads: dict[Place, Mapping[str, Place]] = {
        "start": heads,
        "thought": {**heads, **dict.fromkeys(between, "thought")},
        "answer": {**heads, **dict.fromkeys(between, "answer")},
    }
    return Markers(analysis, f"<|end|><|start|>assistant{final}", leads, ("<|channel|>",))


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
# What some of them put around the answer.
WRAPS = (
    ("<answer>", "</answer>"),
    ("<response>", "</response>"),
    ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
)


def find_markers(template: str, is_token: Callable[[str], bool]) -> Markers | None:
    """Return the markers that a template, or a vocabulary, has; None: the model does not think."""
    known = ((family, sign) for family in FAMILIES for sign in family.signs)
    found = next((family for family, sign in known if sign in template or is_token(sign)), None)
    wraps = [wrap for pair in WRAPS for wrap in pair if all(each in template for each in pair)]
    if found is None or not wraps:
        return found
    more: dict[str, Place] = dict.fromkeys(wraps, "answer")
    leads = {
        place: {**known, **(more if place != "thought" else {})}
        for place, known in found.leads.items()
    }
    return replace(found, leads=leads)


class PartReader:
    """Say of each token of an answer which part it is, as soon as that is certain."""

    def __init__(self, markers: Markers | None, at: PartPosition = PartPosition()) -> None:
        self.at = at
        """Where the answer is."""
        self._markers = markers
        self._held: list[Token] = []
        self._known: list[Segment] = []  # of the held tokens, from the first on
        self._before = len(at.held)  # characters that came before the first token

    @property
    def thinks(self) -> bool:
        """Whether the next token comes within a thought."""
        return self.at.place == "thought"

    def pass_on(self, token: Token) -> list[Token]:
        """Take a token; return those whose part is known by now.

        A token that is half a marker loses that half; one that ends a part and begins another, with
        text of both, becomes two.
        """
        if self._markers is None:
            return [token]
        self._held.append(token)
        self.at, segments = self._markers.read(self.at, token.text)
        self._known += segments
        return self._release()

    def flush(self) -> list[Token]:
        """Return what is held back: no marker comes of it any more."""
        self._known.append((self.at.part, self.at.held))
        self.at = replace(self.at, held="")
        return self._release()

    def _release(self) -> list[Token]:
        if self._before:  # was part of the text that this one continues
            before, self._before = self._before, 0
            if self._take(before) is None:
                self._before = before
                return []
        released: list[Token] = []
        while self._held and (taken := self._take(len(self._held[0].text))) is not None:
            released += self._told(self._held.pop(0), taken)
        return released

    def _take(self, length: int) -> list[Segment] | None:
        """Take the segments of so many characters; None when they are not known yet."""
        if sum(len(text) for _, text in self._known) < length:
            return None
        taken: list[Segment] = []
        while length:
            part, text = self._known.pop(0)
            taken.append((part, text[:length]))
            if text[length:]:
                self._known.insert(0, (part, text[length:]))
            length -= len(taken[-1][1])
        return taken

    def _told(self, token: Token, taken: Sequence[Segment]) -> list[Token]:
        said = [segment for segment in taken if segment[0] != "marker"]
        if not said:
            return [replace(token, part="marker" if taken else self.at.part)]
        return [
            replace(token, text="".join(text for _, text in texts), part=part)
            for part, texts in groupby(said, key=lambda segment: segment[0])
        ]
