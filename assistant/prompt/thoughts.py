"""The thoughts of an answer: the markers around them, where they end, and how one is ended.

Where they end depends on the tokens of the context alone, drafted ones included: exact verification
needs that.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from assistant.events import Part
from assistant.streamed_text import TokenText, split_at_mark
from models.base import common_prefix_length

State = Literal["start", "thought", "answer"]
Segment = tuple[Part, str]


@dataclass(frozen=True, slots=True)
class PartPosition:
    """The state after a part of an answer's text."""

    state: State = "start"
    buffered: str = ""  # its end, which may begin a marker
    is_after_marker: bool = False  # whether blanks that follow belong to a marker

    @property
    def part(self) -> Part:
        """The part of the answer that text belongs to here."""
        return "thought" if self.state == "thought" else "answer"


START = PartPosition()


@dataclass(frozen=True, slots=True)
class Markers:
    """The markers of one family of models: a finite automaton over an answer's text."""

    opens: str  # leads from the start to a thought
    closes: str  # leads from a thought to the answer
    transitions: Mapping[State, Mapping[str, State]]  # from each state, where markers lead to
    signs: tuple[str, ...]  # a template or vocabulary with one of them belongs to this family
    gap: str = "\n\n"  # between a thought and the answer
    answers: str = ""  # leads from the start to an answer without a thought

    @property
    def texts(self) -> Iterator[str]:
        """All markers."""
        return (text for known in self.transitions.values() for text in known)

    def read(self, position: PartPosition, text: str) -> tuple[PartPosition, list[Segment]]:
        """Read more text; return the new position and the segments that are certain.

        They cover the text that was buffered and this text, except what is buffered now. At the
        start a marker counts only after blanks: later the answer may be about markers.
        """
        state, is_after_marker = position.state, position.is_after_marker
        text, segments = position.buffered + text, list[Segment]()
        while text:
            written = text.lstrip()
            if is_after_marker and written != text:
                segments.append(("marker", text[: len(text) - len(written)]))
                text = written
                continue
            before, marker, rest = split_at_mark(text, self.transitions[state])
            is_after_marker = False
            if state == "start" and (before.strip() or not marker):
                if any(transition.startswith(written) for transition in self.transitions[state]):
                    break
                state = "answer"
                continue
            if before:
                part = "marker" if state == "start" else PartPosition(state).part
                segments.append((part, before))
            text = rest
            if not marker:
                break
            segments.append(("marker", marker))
            state, is_after_marker = self.transitions[state][marker], True
        return PartPosition(state, text, is_after_marker), segments


def _tags(opens: str, closes: str, *, repeats: bool = False) -> Markers:
    """Return the markers of a thought before the answer, or of several that it `repeats`."""
    heads: dict[str, State] = {opens: "thought"}
    transitions: dict[State, Mapping[str, State]] = {
        "start": heads,
        "thought": {closes: "answer"},
        "answer": heads if repeats else {},
    }
    return Markers(opens, closes, transitions, (closes, opens.rstrip()))


def _channels() -> Markers:
    """Return the markers of gpt-oss, which writes thoughts and answers as messages on channels."""
    analysis, final = "<|channel|>analysis<|message|>", "<|channel|>final<|message|>"
    heads: dict[str, State] = {analysis: "thought", final: "answer"}
    heads["<|channel|>commentary<|message|>"] = "answer"
    between = ("<|end|>", "<|start|>assistant")
    transitions: dict[State, Mapping[str, State]] = {
        "start": heads,
        "thought": {**heads, **dict.fromkeys(between, "thought")},
        "answer": {**heads, **dict.fromkeys(between, "answer")},
    }
    closes = f"<|end|><|start|>assistant{final}"
    return Markers(analysis, closes, transitions, ("<|channel|>",), gap="", answers=final)


FAMILIES = (
    _channels(),  # gpt-oss
    _tags("<|channel>thought\n", "<channel|>", repeats=True),  # Gemma 4
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
    families = (family for family, sign in known if sign in template or is_token(sign))
    family = next(families, NO_MARKERS)
    wraps = [wrap for pair in WRAPS for wrap in pair if all(tag in template for tag in pair)]
    if family is NO_MARKERS or not wraps:
        return family
    more: dict[str, State] = dict.fromkeys(wraps, "answer")
    transitions = {
        state: {**markers, **(more if state != "thought" else {})}
        for state, markers in family.transitions.items()
    }
    return replace(family, transitions=transitions)


class AnswerBeginning(NamedTuple):
    """Where an answer begins in its context, and how its tokens are decoded."""

    text: TokenText
    markers: Markers = NO_MARKERS
    position: PartPosition = START  # before its first token; the prompt may have opened a thought
    start: int = 0  # the index of its first token in the context


class ThoughtState(NamedTuple):
    """The state of an answer after some of its tokens."""

    position: PartPosition
    pending: bytes = b""  # of a character that is not complete
    tokens: int = 0  # read so far
    thought: int = 0  # tokens within thoughts
    closing: int = 0  # tokens at the end that are the beginning of the closing marker
    before_answer: int | None = None  # tokens before the answer proper; None until it begins


class ThoughtReader:
    """Read the thoughts of one answer; its contexts may come in any order.

    `closing` are the tokens of the closing marker, `budget` is the most tokens within thoughts.
    """

    def __init__(
        self, beginning: AnswerBeginning, closing: Sequence[int], budget: int | None
    ) -> None:
        self._text, self._markers, position, self._start = beginning
        self._opened, self._closing = position.state == "thought", tuple(closing)
        self._read: list[int] = []
        self._states = [ThoughtState(position)]  # before the first token, and after each
        state = ThoughtState(PartPosition("thought"))
        for token in self._closing:
            state = self._after(state, token)
        self.budget = budget if state.position.state == "answer" else None

    def state(self, context: Sequence[int]) -> ThoughtState:
        """Return the state of the answer at the end of a context."""
        answer = context[self._start :]
        same = common_prefix_length(self._read, answer)
        del self._read[same:], self._states[same + 1 :]
        for token in answer[same:]:
            self._read.append(token)
            self._states.append(self._after(self._states[-1], token))
        return self._states[-1]

    def answer_start(self, context: Sequence[int]) -> int | None:
        """Return the index of the first token after the thought that the prompt has opened.

        None while that thought has not ended; the answer's first token if the prompt opens none.
        """
        if not self._opened:
            return self._start
        before = self.state(context).before_answer
        return None if before is None else self._start + before

    def forced_token(self, context: Sequence[int]) -> int | None:
        """Return the token that must follow a context; None where the model is free.

        Within a thought whose budget is spent this is the next token of the closing marker. If the
        thought already ends with the first k tokens of the marker, that is token k.
        """
        if self.budget is None:
            return None
        state = self.state(context)
        is_over = state.position.state == "thought" and state.thought >= self.budget
        return self._closing[state.closing] if is_over else None

    def _after(self, state: ThoughtState, token: int) -> ThoughtState:
        within = state.position.state == "thought"
        text, pending = self._text.after(state.pending, token)
        position, _ = self._markers.read(state.position, text)
        tokens, before = state.tokens + 1, state.before_answer
        if before is None and position.state == "answer":
            before = tokens
        closing = self._closes((*self._closing[: state.closing], token)) if within else 0
        return ThoughtState(position, pending, tokens, state.thought + within, closing, before)

    def _closes(self, end: tuple[int, ...]) -> int:
        """Return the length of the longest proper prefix of the closing marker that ends `end`."""
        longest = min(len(end), len(self._closing) - 1)
        return next((n for n in range(longest, 0, -1) if end[-n:] == self._closing[:n]), 0)
