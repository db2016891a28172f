"""Chat templates: a conversation as the text its model was trained on."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NoReturn

import jinja2
from jinja2.ext import Extension
from jinja2.nodes import Name, Node
from jinja2.parser import Parser

from assistant.calling.wording import described, read_json, short_id
from assistant.chat.template_sandbox import TemplateSandbox, TooMuch, bounded
from assistant.request import Message, Tool

LONGEST_SOURCE = 256_000  # characters of a template
MAX_ADDED = 64_000  # characters that a template may add to what was written
LONGEST_S = 2.0
MOST_MEMORY = 300_000_000  # bytes
LONGEST_PROBLEM = 200  # characters, some of which a template may choose
Variables = Mapping[str, object]
NO_VARIABLES: Variables = MappingProxyType({})
CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{{ '<|im_start|>assistant\n' }}"
)
PLAIN = (
    "{% for message in messages %}{{ message.role|capitalize }}: {{ message.content }}\n\n"
    "{% endfor %}Assistant:"
)


class ChatTemplate:
    """Render conversations with a model's own Jinja template, in a sandbox.

    A file may have no template, or one that fails: then a built-in one is used, and `notice` says
    so.
    """

    def __init__(self, source: str | None, fallback: str, bos: str = "", eos: str = "") -> None:
        self._fallback = _ENVIRONMENT.from_string(fallback)
        self._names = {"bos_token": bos, "eos_token": eos, "add_generation_prompt": True}
        self.notice: str | None = None
        self.variables: frozenset[str] = frozenset()
        """The names that the template reads: what it can be told is among them."""
        self._template = self._fallback
        if source is None:
            self.notice = "This model has no chat template; a built-in one is used."
            return
        if len(source) > LONGEST_SOURCE:
            self._give_up(f"it has more than {LONGEST_SOURCE // 1000} kB")
            return
        try:
            with bounded(LONGEST_S, MOST_MEMORY):
                tree = _ENVIRONMENT.parse(source)
                names = {name.name for name in tree.find_all(Name) if name.ctx == "load"}
                self._template = _ENVIRONMENT.from_string(tree)
                self.variables = frozenset(names)
        # Compiling folds constants, so it runs a part of the program.
        except Exception as error:
            self._give_up(str(error))

    def render(self, messages: Sequence[Message], variables: Variables = NO_VARIABLES) -> str:
        """Return the prompt whose continuation is the assistant's answer.

        What a template leaves out, the system prompt or the question, would be lost in silence:
        then the system prompt is put in front of the first question, or a built-in template used.
        A template that does not take the values of `variables` is used without them.
        """
        text, problem = self._own(messages, variables, ())
        if text is not None:
            return text
        self._give_up(problem)
        return self._render(self._fallback, messages)

    def render_tools(
        self,
        messages: Sequence[Message],
        variables: Variables = NO_VARIABLES,
        tools: Sequence[Tool] = (),
    ) -> str | None:
        """Return the prompt as the template writes tools, their calls and results.

        None if it fails, or leaves a tool or a result out.
        """
        text, _ = (None, "") if self.fails else self._own(messages, variables, tools)
        return text if text and all(tool.name in text for tool in tools) else None

    def _own(
        self, messages: Sequence[Message], variables: Variables, tools: Sequence[Tool]
    ) -> tuple[str | None, str]:
        """Return what the model's own template writes, or what is wrong with that."""
        problem = ""
        ways = [(messages, variables), (_without_system(messages), variables)]
        ways += [(each, NO_VARIABLES) for each, _ in ways if variables]
        for conversation, told in ways:
            try:
                text = self._render(self._template, conversation, told, tools)
            except TooMuch as error:
                problem = str(error)
                break
            # A template is a program by a stranger: it may fail with any error at all.
            except Exception as error:
                problem = str(error)
                continue
            if all(message.content.strip() in text for message in _indispensable(messages)):
                if conversation is not messages:
                    self.notice = (
                        "This model has no system prompt; yours is put in the first question."
                    )
                elif told is not variables:
                    self.notice = f"The model's chat template refuses this value ({problem})."
                return text, ""
            problem = "it leaves out part of the conversation"
        return None, problem

    def _render(
        self,
        template: jinja2.Template,
        messages: Sequence[Message],
        variables: Variables = NO_VARIABLES,
        tools: Sequence[Tool] = (),
    ) -> str:
        names = {call.id: call.name for message in messages for call in message.calls}
        turns = [_turn(message, names) for message in messages]
        if template is self._fallback:
            return template.render(messages=turns, **self._names)
        written = sum(len(text) for message in messages for text in message.texts)
        written += sum(len(text) for tool in tools for text in tool.texts)
        offered = {"tools": [described(tool) for tool in tools]} if tools else {}
        with bounded(LONGEST_S, MOST_MEMORY + 8 * written):
            text = template.render(messages=turns, **self._names, **variables, **offered)
        if len(text) > 4 * written + MAX_ADDED:
            raise TooMuch("it expands too much")
        return text

    @property
    def fails(self) -> bool:
        """Whether a built-in template is used instead of the model's own."""
        return self._template is self._fallback

    def _give_up(self, problem: str) -> None:
        self._template = self._fallback
        why = problem[:LONGEST_PROBLEM]
        self.notice = f"The model's chat template fails ({why}); a built-in one is used."


def _turn(message: Message, names: Mapping[str, str]) -> dict[str, object]:
    """Return a message as templates know it; a thought is theirs to write down or leave out.

    `names` are those of the tools that were called, by the ids of the calls.
    """
    turn: dict[str, object] = {"role": message.role, "content": message.content}
    if message.thought:  # by two names: Qwen's and most others', gpt-oss's and Liquid's
        turn |= dict.fromkeys(("reasoning_content", "thinking"), message.thought)
    if message.calls:
        turn["tool_calls"] = [
            {
                "id": short_id(call.id),
                "type": "function",
                "function": {"name": call.name, "arguments": read_json(call.arguments)},
            }
            for call in message.calls
        ]
    if message.role == "tool":
        name = names.get(message.call_id, "")
        turn |= {"tool_call_id": short_id(message.call_id), "name": name}
    return turn


def _without_system(messages: Sequence[Message]) -> Sequence[Message]:
    """Put the system prompt before the first user message, for templates without one."""
    if len(messages) < 2 or messages[0].role != "system":
        return messages
    system, first, *rest = messages
    return [Message(first.role, f"{system.content}\n\n{first.content}"), *rest]


def _indispensable(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the system prompt, the last message, and the results of its question."""
    system = [message for message in messages[:1] if message.role == "system"]
    asked = max((i for i, each in enumerate(messages) if each.role == "user"), default=0)
    results = [message for message in messages[asked:-1] if message.role == "tool"]
    return [*system, *results, *messages[-1:]]


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _to_json(
    value: Any,
    indent: int | None = None,
    ensure_ascii: bool = False,  # it is never: what is masked in a text would be lost
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Return JSON without Jinja's own escapes for HTML."""
    return json.dumps(
        value, ensure_ascii=False, indent=indent, separators=separators, sort_keys=sort_keys
    )


class _Generation(Extension):
    """Render what stands between `generation` and `endgeneration`, which marks text to train on."""

    tags = {"generation"}  # noqa: RUF012 - as its base has it

    def parse(self, parser: Parser) -> list[Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment() -> TemplateSandbox:
    environment = TemplateSandbox(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = lambda pattern: datetime.now().strftime(pattern)
    return environment


_ENVIRONMENT = _environment()
