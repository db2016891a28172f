"""Conversations to tokens, with the model's chat template, thoughts and tool calls."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

from assistant.calling import formats
from assistant.prompt.context import drop_oversized, fit
from assistant.prompt.days import day_variables, shows_day, with_days
from assistant.prompt.infill import InfillPrompts
from assistant.prompt.masking import Masking
from assistant.prompt.template import CHATML, NO_VARIABLES, PLAIN, ChatTemplate, Variables
from assistant.prompt.thinking import Thinking
from assistant.prompt.thoughts import NO_MARKERS, AnswerBeginning, ThoughtReader
from assistant.request import Infill, Message, Request, Tool
from models.errors import Cancelled, ContextFull, ModelError
from models.native.vocab import Vocab
from models.progress import CancelFlag

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
    thought_markers: tuple[str, str] | None  # of a thought that the model may start by itself
    context: Sequence[int] = ()  # of a gap: the tokens that an answer continues


class ChatTokens:
    """Tokenise conversations for one model, by its vocabulary and chat template."""

    def __init__(self, vocab: Vocab) -> None:
        self._vocab = vocab
        self.infills = InfillPrompts(vocab)
        self.tools_in_words = False
        """Whether the last prompt described tools in words, because the template cannot."""
        fallback = CHATML if "<|im_start|>" in vocab.controls else PLAIN
        self.template = ChatTemplate(vocab.template, fallback, vocab.bos_text, vocab.eos_text)
        self.thinking = Thinking(vocab, self.template)
        """The model's thoughts in prompts, and before answers."""

    def prompt(self, request: Request, budget: int, cancel: CancelFlag) -> ChatPrompt:
        """Tokenise the turns of a conversation that fit into `budget` tokens.

        Raises:
            Cancelled: the user stopped it between the tokenising of two turns.
            SpecchatError: there can be no answer.
        """
        if request.infill:
            return self._infill_prompt(request, request.infill, budget)
        messages, oversized = drop_oversized(request.messages, self._vocab.tokenize, budget)
        variables = self.thinking.variables(request)

        def encode_turn(messages: Sequence[Message]) -> list[int]:
            if cancel.raised:
                raise Cancelled("Stopped before it began.")
            return self.encode(messages, variables)

        in_template = partial(self.encode, variables=variables, tools=request.tools)
        encode = self._encode_raw if request.raw else in_template
        try:
            tokens, dropped = fit(messages, encode, budget, encode_turn)
        except ContextFull:
            tools, size = request.tools, len(encode([Message("user", "")]))
            if tools and size > budget:
                raise ContextFull(
                    f"The tools take {size:,} tokens, and there is room for {budget:,}. Offer "
                    f"fewer tools, or simplify the largest ({formats.largest_tool(tools)})."
                ) from None
            raise
        warnings = [*self.warnings(request)]  # before other conversations are rendered
        calls = self.call_format.texts if request.tools else ()
        beginning = self.thinking.beginning(request, tokens, calls)
        thoughts, dropped = self.thinking.reader(request, beginning), oversized + dropped
        markers = beginning.markers
        is_open = markers is not NO_MARKERS and beginning.position.state == "start"
        marks = (markers.opens, markers.closes) if is_open and request.thinking != "off" else None
        return ChatPrompt(tokens, dropped, warnings, beginning, thoughts, self.call_format, marks)

    def _infill_prompt(self, request: Request, infill: Infill, budget: int) -> ChatPrompt:
        """Return the prompt of a gap in a text; see `InfillPrompts`."""
        prefix = "".join(message.content for message in request.messages)
        tokens, context = self.infills.prompt(prefix, infill, budget, request.prediction)
        beginning = self.thinking.beginning(request, tokens[: len(tokens) - len(infill.typed)])
        thoughts = self.thinking.reader(request, beginning)
        return ChatPrompt(tokens, 0, [], beginning, thoughts, self.call_format, None, context)

    def _encode_raw(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of texts as they are; control tokens may be written out in them."""
        start, rest = self._start("".join(message.content for message in messages))
        return [*start, *self.thinking.controls.tokenize(rest)]

    def encode(
        self,
        messages: Sequence[Message],
        variables: Variables = NO_VARIABLES,
        tools: Sequence[Tool] = (),
    ) -> list[int]:
        """Return the tokens of the prompt for the next answer.

        Earlier answers keep the tokens that they were decoded as, which are cached; tokenising
        their text could give others. An answer at the end is left open, to be continued. A
        `ModelError` says that the vocabulary has no token for any of it.
        """
        if messages and messages[-1].role == "assistant":
            prefix = self.thinking.prefix(messages[-1], variables)
            return [*self.encode(messages[:-1], variables, tools), *prefix]
        if day := next((message.day for message in messages if message.day), ""):
            known = day if shows_day(self.template, messages, variables) else ""
            messages = [*with_days(messages, known)]
            variables = {**variables, **day_variables(day)}
        messages = [self.thinking.with_thought(_with_plain_json(message)) for message in messages]
        tools = [replace(tool, parameters=formats.plain_json(tool.parameters)) for tool in tools]
        written = [text for message in messages for text in message.texts]
        written += [text for tool in tools for text in tool.texts]
        masking = Masking(self.thinking.controls, [*written, self._vocab.template or ""])
        start, rest = self._start(self._rendered(messages, variables, tools, masking))
        tokens = [*start, *masking.tokenize(rest, messages)]
        if not tokens:
            raise ModelError("The model's vocabulary has no tokens for any of this text.")
        return tokens

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

    @property
    def call_format(self) -> formats.CallFormat:
        """The format of calls in the last prompt."""
        return formats.HERMES if self.tools_in_words else self._own_format or formats.HERMES

    @cached_property
    def _own_format(self) -> formats.CallFormat | None:
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

        def masked(keeps_calls: bool = True) -> list[Message]:
            return [
                masking.answer(message, i)
                if (keeps_calls or not message.tool_calls) and self.thinking.keeps_tokens(message)
                else masking.message(message)
                for i, message in enumerate(messages)
            ]

        self.tools_in_words = False
        has_calls = any(message.tool_calls or message.role == "tool" for message in messages)
        if not (tools or has_calls):
            return self.template.render(masked(), variables)
        offered = [masking.tool(tool) for tool in tools]
        if call_format := self._own_format:
            # Some templates want to see calls before there are results, or leave these out.
            for keeps_calls in (True, False):
                conversation = masked(keeps_calls)
                text = self.template.render_tools(conversation, variables, offered)
                results = [m.content.strip() for m in conversation if m.role == "tool"]
                has_all = text is not None and all(result in text for result in results)
                if text is not None and (has_all or not keeps_calls):
                    forgets_start = call_format.ended and text.endswith(call_format.ended)
                    return text + call_format.start if forgets_start else text
        self.tools_in_words = True
        return self.template.render(formats.tools_as_text(masked(), offered), variables)

    def warnings(self, request: Request) -> Iterator[str]:
        """Yield a sentence for each part of a request that cannot be honoured."""
        if self.template.warning:
            yield self.template.warning
        is_limited = request.thinking_budget is not None and request.thinking != "off"
        if (request.thinking == "on" or is_limited) and not self.thinking.thinks:
            yield NO_THOUGHTS
        if request.effort and not self.thinking.takes_effort:
            yield NO_EFFORT
        if request.tools and self.tools_in_words:
            yield NO_TOOLS


def _with_plain_json(message: Message) -> Message:
    calls = message.tool_calls
    plain = (replace(call, arguments=formats.plain_json(call.arguments)) for call in calls)
    return replace(message, tool_calls=tuple(plain)) if calls else message
