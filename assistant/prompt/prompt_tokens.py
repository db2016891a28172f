"""Conversations to tokens, with the model's chat template, thoughts and tool calls."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cached_property, partial
from itertools import takewhile
from typing import NamedTuple

from assistant.calling import formats
from assistant.prompt.context import drop_oversized, fit
from assistant.prompt.infill import SUFFIX_FEWEST, FarSuffix, InfillPrompt
from assistant.prompt.masking import ControlTexts, Masking, is_token
from assistant.prompt.template import CHATML, NO_VARIABLES, PLAIN, ChatTemplate, Variables
from assistant.prompt.thoughts import (
    NO_MARKERS,
    START,
    AnswerBeginning,
    PartPosition,
    ThoughtReader,
    find_markers,
)
from assistant.request import Infill, Message, Request, Tool
from assistant.streamed_text import TokenText
from models.errors import Cancelled, ContextFull, ModelError
from models.native.vocab import Vocab
from models.progress import CancelFlag


def day_variables(day: str) -> Mapping[str, object]:
    """Return the variables by which templates ask what day it is; the time is midnight."""
    then = date.fromisoformat(day)
    return {"strftime_now": then.strftime, "date_string": then.strftime("%d %b %Y")}


def with_days(messages: Sequence[Message], known: str) -> Iterator[Message]:
    """Yield a conversation in which the first question of each day says which day it is.

    The day stands after the attachments, which may be cached since another day. `known` is the day
    that the prompt begins with, if any.
    """
    for message in messages:
        if message.day and message.day != known:
            known, then = message.day, date.fromisoformat(message.day)
            # "Today is ..." makes small models restrict a query to today.
            line = f"(Asked on {then:%A}, {then.day} {then:%B %Y}.)"
            attached = message.content[: message.attached].rstrip()
            parts = filter(None, (attached, line, message.content[message.attached :]))
            message = replace(message, content="\n\n".join(parts))
        yield message


SWITCHES = ("enable_thinking", "thinking")
"""The variables by which templates switch thinking on or off."""
EFFORT, BUDGET = "reasoning_effort", "thinking_budget"
_TAIL = 24  # last tokens of a prompt; an opening marker has at most 18 besides blanks

NO_THOUGHTS = "This model does not think: its chat template has no mark for thoughts."
NO_TOOLS = "This model's chat template has no known form of tools; words describe them."
NO_EFFORT = "This model has no effort setting; yours is ignored."


class ChatPrompt(NamedTuple):
    """The prompt of a request, and how the answers to it are to be written and read."""

    tokens: list[int]
    dropped: int  # of the oldest turns, which did not fit
    warnings: list[str]  # parts of the request that cannot be honoured, in sentences
    beginning: AnswerBeginning
    thoughts: ThoughtReader
    call_format: formats.CallFormat
    thought: tuple[str, str] | None  # the markers of a thought that the model may start by itself
    context: Sequence[int] = ()  # of a gap: the tokens that an answer continues


class ChatTokens:
    """Tokenise conversations for one model, by its vocabulary and chat template."""

    def __init__(self, vocab: Vocab) -> None:
        self._vocab = vocab
        self.suffix_tokens = SUFFIX_FEWEST
        """How many tokens after a gap may be read again for each key."""
        self._far_suffix = FarSuffix()
        self.tools_in_words = False
        """Whether the last prompt described tools in words, because the template cannot."""
        fallback = CHATML if "<|im_start|>" in vocab.controls else PLAIN
        self.template = ChatTemplate(vocab.template, fallback, vocab.bos_text, vocab.eos_text)
        self.markers = find_markers(vocab.template or "", partial(is_token, vocab))
        """The markers of the model's thoughts."""
        self._controls = ControlTexts(vocab, self.markers.texts)

    def prompt(self, request: Request, budget: int, cancel: CancelFlag) -> ChatPrompt:
        """Tokenise the turns of a conversation that fit into `budget` tokens.

        Raises:
            Cancelled: the user stopped it between the tokenising of two turns.
            SpecchatError: there can be no answer.
        """
        if request.infill:
            return self._infill_prompt(request, request.infill, budget)
        messages, oversized = drop_oversized(request.messages, self._vocab.tokenize, budget)
        variables = self.variables(request)

        def turn(messages: Sequence[Message]) -> list[int]:
            if cancel.raised:
                raise Cancelled("Stopped before it began.")
            return self.encode(messages, variables)

        in_template = partial(self.encode, variables=variables, tools=request.tools)
        whole = self._raw if request.raw else in_template
        try:
            tokens, dropped = fit(messages, whole, budget, turn)
        except ContextFull:
            tools, size = request.tools, len(whole([Message("user", "")]))
            if tools and size > budget:
                raise ContextFull(
                    f"The tools take {size:,} tokens, and there is room for {budget:,}. Offer "
                    f"fewer tools, or simplify the largest ({formats.largest(tools)})."
                ) from None
            raise
        warnings = [*self.warnings(request)]  # before other conversations are rendered
        beginning = self.beginning(request, tokens)
        thoughts, dropped = self.thoughts(request, beginning), oversized + dropped
        is_open = beginning.markers is not NO_MARKERS and beginning.at.state == "start"
        may_think = is_open and request.thinking != "off"
        marks = (self.markers.opens, self.markers.closes) if may_think else None
        return ChatPrompt(tokens, dropped, warnings, beginning, thoughts, self.call_format, marks)

    def _infill_prompt(self, request: Request, infill: Infill, budget: int) -> ChatPrompt:
        """Return the prompt of a gap in a text; see `InfillPrompt`."""
        prefix = "".join(message.content for message in request.messages)
        prompt = InfillPrompt(
            self._vocab, prefix, infill, budget, request.prediction, self.suffix_tokens,
            self._far_suffix,
        )  # fmt: skip
        beginning = self.beginning(request, tokens := prompt.tokens)
        thoughts = self.thoughts(request, beginning)
        call_format, context = self.call_format, prompt.context
        return ChatPrompt(tokens, 0, [], beginning, thoughts, call_format, None, context)

    def _raw(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of texts as they are; control tokens may be written out in them."""
        start, rest = self._start("".join(message.content for message in messages))
        return [*start, *self._plain(rest)]

    def encode(
        self,
        messages: Sequence[Message],
        variables: Variables = NO_VARIABLES,
        tools: Sequence[Tool] = (),
    ) -> list[int]:
        """Return the tokens of the prompt for the next answer.

        Earlier answers keep the tokens that they were decoded as, which are cached; tokenising
        their text could give others. An answer at the end is left open, to be continued.

        Raises:
            ModelError: the vocabulary has no token for any of it.
        """
        if messages and messages[-1].role == "assistant":
            prefix = self._prefix(messages[-1], variables)
            return [*self.encode(messages[:-1], variables, tools), *prefix]
        if day := next((message.day for message in messages if message.day), ""):
            messages = [*with_days(messages, day if self._shows_day(messages, variables) else "")]
            variables = {**variables, **day_variables(day)}
        messages = [self._with_thought(_with_plain_json(message)) for message in messages]
        tools = [replace(tool, parameters=formats.plain_json(tool.parameters)) for tool in tools]
        written = [text for message in messages for text in message.texts]
        written += [text for tool in tools for text in tool.texts]
        masking = Masking(self._controls, [*written, self._vocab.template or ""])
        rendered = self._rendered(messages, variables, tools, masking)
        start, rest = self._start(rendered)
        tokens = [*start, *masking.tokenize(rest, messages)]
        if not tokens:
            raise ModelError("The model's vocabulary has no tokens for any of this text.")
        return tokens

    def _shows_day(self, messages: Sequence[Message], variables: Variables) -> bool:
        """Return whether the template shows the day; some do so only without a system prompt."""
        system = takewhile(lambda message: message.role == "system", messages)
        start = [*system, Message("user", "?")]
        days = (day_variables(day) for day in ("2001-02-03", "2004-05-06"))
        return len({self.template.render(start, {**variables, **day}) for day in days}) == 2

    def _start(self, rendered: str) -> tuple[list[int], str]:
        """Return the token that a prompt begins with, if any, and the text after it.

        A template may write it once or twice, after blanks, or leave it to the vocabulary.
        """
        vocab = self._vocab
        bos = vocab.controls.get(vocab.bos_text) if vocab.bos is None else vocab.bos
        if bos is None:
            return [], rendered
        written = re.match(rf"(?:\s*{re.escape(vocab.bos_text)})+", rendered)
        start = [bos] if written or vocab.bos is not None else []
        return start, rendered[written.end() :] if written else rendered

    # Calls

    @property
    def call_format(self) -> formats.CallFormat:
        """The format of calls in the last prompt."""
        return (not self.tools_in_words and self._own_calls) or formats.HERMES

    @cached_property
    def _own_calls(self) -> formats.CallFormat | None:
        """The template's own format of calls; None if it has none, or one that is not known."""
        rendered = self.template.render_tools(formats.PROBE, tools=(formats.PROBE_TOOL,))
        return formats.find_format(rendered or "")

    def _rendered(
        self,
        messages: Sequence[Message],
        variables: Variables,
        tools: Sequence[Tool],
        masking: Masking,
    ) -> str:
        """Render a masked conversation, with tools in words if the template loses any of them."""

        def masked(keeps: bool = True) -> list[Message]:
            return [
                masking.answer(message, i)
                if (keeps or not message.tool_calls) and self._keeps_tokens(message)
                else masking.message(message)
                for i, message in enumerate(messages)
            ]

        self.tools_in_words = False
        has_calls = any(message.tool_calls or message.role == "tool" for message in messages)
        if not (tools or has_calls):
            return self.template.render(masked(), variables)
        offered = [masking.tool(tool) for tool in tools]
        if call_format := self._own_calls:
            # Some templates want to see calls before there are results, or leave these out.
            for keeps in (True, False):
                conversation = masked(keeps)
                text = self.template.render_tools(conversation, variables, offered)
                results = [m.content.strip() for m in conversation if m.role == "tool"]
                if text is not None and (not keeps or all(result in text for result in results)):
                    ended = call_format.ended
                    return text + call_format.start * bool(ended and text.endswith(ended))
        self.tools_in_words = True
        return self.template.render(formats.tools_as_text(masked(), offered), variables)

    # Thoughts

    @property
    def thinks(self) -> bool:
        """Whether the model has marks for thoughts."""
        return self.markers is not NO_MARKERS

    @property
    def takes_effort(self) -> bool:
        """Whether the template takes a reasoning effort."""
        return EFFORT in self.template.variables

    def variables(self, request: Request) -> Variables:
        """Return the template's variables for the thinking that a request asks for."""
        wanted: dict[str, object] = {}
        has_begun = request.continues and request.messages[-1].thought  # to think, and goes on
        is_off = request.thinking == "off" and not has_begun
        if request.thinking != "auto":
            wanted |= dict.fromkeys(SWITCHES, not is_off)
        tokens = 0 if is_off else request.thinking_budget
        wanted |= {BUDGET: tokens, EFFORT: request.effort}
        known = self.template.variables
        return {name: wanted[name] for name in wanted if name in known and wanted[name] is not None}

    def warnings(self, request: Request) -> Iterator[str]:
        """Yield a sentence for each part of a request that cannot be honoured."""
        if self.template.warning:
            yield self.template.warning
        if request.thinking == "on" and not self.thinks:
            yield NO_THOUGHTS
        if request.effort and not self.takes_effort:
            yield NO_EFFORT
        if request.tools and self.tools_in_words:
            yield NO_TOOLS

    def beginning(self, request: Request, prompt: Sequence[int]) -> AnswerBeginning:
        """Return where the answer to a prompt begins, and how its tokens are decoded.

        Control tokens that mark thoughts are decoded to their names, and so are those of calls if
        the request has tools.
        """
        if request.raw:
            return AnswerBeginning(TokenText(self._vocab.piece), start=len(prompt))
        last = request.messages[-1:] if request.continues else ()
        prefixes = (self._prefix(answer, self.variables(request)) for answer in last)
        start = len(prompt) - sum(map(len, prefixes))
        named = self._named(self.call_format.texts) if request.tools else {}
        text = TokenText(self._vocab.piece, {**self._thought_names, **named})
        return AnswerBeginning(text, self.markers, self._opened(prompt[:start]), start)

    def thoughts(self, request: Request, beginning: AnswerBeginning) -> ThoughtReader:
        """Return the reader of an answer's thoughts, with the request's budget.

        If thinking is off and the template does not switch it off, the budget is 0.
        """
        budget = request.thinking_budget
        if request.thinking == "off":
            is_switched_off = False in self.variables(request).values()  # as is a budget of 0
            budget = None if is_switched_off else 0
        closing = [] if budget is None else self._plain(self.markers.closes)
        return ThoughtReader(beginning, closing, budget)

    @cached_property
    def _thought_names(self) -> dict[int, str]:
        return self._named([*self.markers.texts])

    def _named(self, marks: Sequence[str]) -> dict[int, str]:
        """Return the names of the control tokens that occur in marks, by their ids."""
        controls = self._vocab.controls.items()
        return {token: name for name, token in controls if any(name in mark for mark in marks)}

    def _text_of(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens, with the names of control tokens that mark thoughts."""
        return TokenText(self._vocab.piece, self._thought_names).of(tokens)

    def _plain(self, text: str) -> list[int]:
        """Return the tokens of a text that may hold control tokens, as a template's may."""
        return Masking(self._controls, [text]).tokenize(text)

    def _opened(self, prompt: Sequence[int]) -> PartPosition:
        """Return the position after a prompt, which may have opened a thought."""
        end = self._text_of(prompt[-_TAIL:]).rstrip()
        if not self.thinks:
            return START
        if end.endswith(self.markers.opens.rstrip()):
            return PartPosition("thought", fresh=True)
        return PartPosition("answer") if end.endswith(self.markers.closes) else START

    def _prefix(self, answer: Message, variables: Variables) -> Sequence[int]:
        """Return the tokens of the answer at the end of a conversation, to be continued."""
        content, thought, marks = answer.content, answer.thought, self.markers
        has_marks = not thought and (marks.opens.rstrip() in content or marks.closes in content)
        if answer.token_ids or not self.thinks or has_marks:
            return answer.token_ids or self._vocab.tokenize(content)
        prompt = self.template.render([Message("user", "?")], variables)
        opened = prompt.rstrip().endswith(marks.opens.rstrip())
        prefix = self._plain(marks.opens) if thought and not opened else []
        prefix += self._vocab.tokenize(thought)
        if content:
            prefix += self._plain(marks.closes + marks.gap if thought or opened else marks.answers)
            prefix += self._vocab.tokenize(content)
        return prefix

    def _with_thought(self, message: Message) -> Message:
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

    def _keeps_tokens(self, message: Message) -> bool:
        """Return whether an answer keeps its tokens: not with a thought, which may be dropped."""
        if not (self.thinks and message.token_ids):
            return bool(message.token_ids) and "</think>" not in message.content
        text = self._text_of(message.token_ids) + message.content
        return not message.thought and self.markers.closes not in text


def _with_plain_json(message: Message) -> Message:
    calls = message.tool_calls
    plain = (replace(call, arguments=formats.plain_json(call.arguments)) for call in calls)
    return replace(message, tool_calls=tuple(plain)) if calls else message
