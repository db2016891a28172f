"""The thoughts of one model: what its prompts ask and keep of them, and where answers begin."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from assistant.prompt.masking import ControlTexts, is_token
from assistant.prompt.template import ChatTemplate, Variables
from assistant.prompt.thoughts import (
    NO_MARKERS,
    START,
    AnswerBeginning,
    PartPosition,
    ThoughtReader,
    find_markers,
)
from assistant.request import Message, Request
from assistant.streamed_text import TokenText
from models.native.vocab import Vocab

SWITCHES = ("enable_thinking", "thinking")
"""The variables by which templates switch thinking on or off."""
EFFORT, BUDGET = "reasoning_effort", "thinking_budget"
_TAIL = 24  # last tokens of a prompt; an opening marker has at most 18 besides blanks


class Thinking:
    """How one model thinks, by its chat template and its vocabulary."""

    def __init__(self, vocab: Vocab, template: ChatTemplate) -> None:
        self._vocab, self._template = vocab, template
        self.markers = find_markers(vocab.template or "", partial(is_token, vocab))
        self.controls = ControlTexts(vocab, self.markers.texts)
        """The texts of messages that must not become control tokens, or markers."""
        self.thinks = self.markers is not NO_MARKERS
        self.takes_effort = EFFORT in template.variables
        self._names = self._control_names([*self.markers.texts])
        self._text = TokenText(vocab.piece, self._names)

    def variables(self, request: Request) -> Variables:
        """Return the template's variables for the thinking that a request asks for."""
        wanted: dict[str, object] = {}
        has_begun = request.continues and request.messages[-1].thought  # it continues a thought
        is_off = request.thinking == "off" and not has_begun
        if request.thinking != "auto":
            wanted |= dict.fromkeys(SWITCHES, not is_off)
        tokens = 0 if is_off else request.thinking_budget
        wanted |= {BUDGET: tokens, EFFORT: request.effort}
        known = self._template.variables
        return {name: wanted[name] for name in wanted if name in known and wanted[name] is not None}

    def beginning(
        self, request: Request, prompt: Sequence[int], calls: Sequence[str] = ()
    ) -> AnswerBeginning:
        """Return where the answer to a prompt begins, and how its tokens are decoded.

        Control tokens that mark thoughts are decoded to their names, and so are those in `calls`,
        the texts around calls of tools.
        """
        if request.raw:
            return AnswerBeginning(TokenText(self._vocab.piece), start=len(prompt))
        start = len(prompt)
        if request.continues:
            start -= len(self.prefix(request.messages[-1], self.variables(request)))
        text = TokenText(self._vocab.piece, self._names | self._control_names(calls))
        return AnswerBeginning(text, self.markers, self._position_after(prompt[:start]), start)

    def reader(self, request: Request, beginning: AnswerBeginning) -> ThoughtReader:
        """Return the reader of an answer's thoughts, with the request's budget.

        If thinking is off and the template does not switch it off, the budget is 0.
        """
        budget = request.thinking_budget
        if request.thinking == "off":
            is_switched_off = False in self.variables(request).values()  # as is a budget of 0
            budget = None if is_switched_off else 0
        closing = [] if budget is None else self.controls.tokenize(self.markers.closes)
        return ThoughtReader(beginning, closing, budget)

    def _control_names(self, marks: Sequence[str]) -> dict[int, str]:
        """Return the names of the control tokens that occur in marks, by their ids."""
        controls = self._vocab.controls.items()
        return {token: name for name, token in controls if any(name in mark for mark in marks)}

    def _position_after(self, prompt: Sequence[int]) -> PartPosition:
        """Return the position after a prompt, which may have opened a thought."""
        end = self._text.of(prompt[-_TAIL:]).rstrip()
        if not self.thinks:
            return START
        if end.endswith(self.markers.opens.rstrip()):
            return PartPosition("thought", is_after_marker=True)
        return PartPosition("answer") if end.endswith(self.markers.closes) else START

    def prefix(self, answer: Message, variables: Variables) -> Sequence[int]:
        """Return the tokens of the answer at the end of a conversation, to be continued."""
        content, thought, marks = answer.content, answer.thought, self.markers
        has_marks = not thought and (marks.opens.rstrip() in content or marks.closes in content)
        if answer.token_ids or not self.thinks or has_marks:
            return answer.token_ids or self._vocab.tokenize(content)
        prompt = self._template.render([Message("user", "?")], variables)
        opened = prompt.rstrip().endswith(marks.opens.rstrip())
        prefix = self.controls.tokenize(marks.opens) if thought and not opened else []
        prefix += self._vocab.tokenize(thought)
        if content:
            between = marks.closes + marks.gap if thought or opened else marks.answers
            prefix += self.controls.tokenize(between)
            prefix += self._vocab.tokenize(content)
        return prefix

    def with_thought(self, message: Message) -> Message:
        """Return an answer with the thought that its content begins with in its own field.

        Markers elsewhere in an answer are text.
        """
        content = message.content.lstrip()
        begins = self.thinks and content.startswith(self.markers.opens)
        if message.role != "assistant" or message.thought or not begins:
            return message
        inner = content.removeprefix(self.markers.opens)
        thought, closed, rest = inner.partition(self.markers.closes)
        if not closed:
            return message
        return replace(message, content=rest.lstrip(), thought=thought.strip())

    def keeps_tokens(self, message: Message) -> bool:
        """Return whether an answer keeps its tokens: not with a thought, which may be dropped."""
        if not (self.thinks and message.token_ids):
            return bool(message.token_ids)
        text = self._text.of(message.token_ids) + message.content
        return not message.thought and self.markers.closes not in text
