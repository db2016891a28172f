"""Chat templates: from a conversation to the text format that its model was trained on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, takewhile
from types import MappingProxyType

import jinja2

from assistant.calling.formats import read_json, short_id, tool_object
from assistant.prompt import sandbox
from assistant.request import Message, Tool

LONGEST_REASON = 200  # characters, some of which a template may choose
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

    Without a template, or if it fails for every conversation, a built-in one is used for good. If
    it fails for one conversation, the built-in one is used for that conversation only.
    """

    def __init__(self, source: str | None, fallback: str, bos: str = "", eos: str = "") -> None:
        self._fallback = sandbox.ENVIRONMENT.from_string(fallback)
        self._names = {"bos_token": bos, "eos_token": eos, "add_generation_prompt": True}
        self.warning: str | None = None
        """How the last conversation was rendered differently, as a sentence; usually None."""
        self.variables: frozenset[str] = frozenset()
        """The names of the variables that the template reads."""
        self._own = self._fallback
        self._given_up: str | None = None
        """Why the model's own template is never used."""
        if source is None:
            self._give_up("This model has no chat template; a built-in one is used.")
            return
        try:
            self._own, self.variables = sandbox.compile_template(source)
        # Compiling folds constants, so it runs a part of the program.
        except Exception as error:
            self._give_up(_failure(str(error)))

    def render(self, messages: Sequence[Message], variables: Variables = NO_VARIABLES) -> str:
        """Return the prompt whose continuation is the assistant's answer.

        If the template fails, or leaves out the system prompt or the question, it is tried again
        with the system prompt in the first question, with messages of the same role joined, and
        without `variables`. Then a built-in template is used.
        """
        text, reason = self._rendered(messages, variables, ())
        if text is not None:
            return text
        if self._given_up is None:
            if self._rendered(_SIMPLEST, NO_VARIABLES, ())[0] is None:
                self._give_up(_failure(reason))
            else:
                self.warning = _failure(reason, " for this conversation")
        return self._render(self._fallback, messages)

    def render_tools(
        self,
        messages: Sequence[Message],
        variables: Variables = NO_VARIABLES,
        tools: Sequence[Tool] = (),
    ) -> str | None:
        """Return the prompt with tools, calls and results in the template's own format.

        None if the template fails, or leaves out a tool or a result.
        """
        text, _ = self._rendered(messages, variables, tools)
        return text if text and all(tool.name in text for tool in tools) else None

    def _rendered(
        self, messages: Sequence[Message], variables: Variables, tools: Sequence[Tool]
    ) -> tuple[str | None, str]:
        """Return the prompt by the model's own template, or why there is none."""
        reason, self.warning = "", self._given_up
        variants = iter(()) if self._given_up else _variants(messages, variables)
        for conversation, known, warning in variants:
            try:
                text = self._render(self._own, conversation, known, tools)
            except sandbox.TooSlow:
                self._give_up(_TOO_SLOW)
                return None, _TOO_SLOW
            # A template is a program by a stranger: it may fail with any error at all.
            except Exception as error:
                reason = str(error)
                continue
            if all(message.content.strip() in text for message in _required_messages(messages)):
                self.warning = warning.format(reason=reason[:LONGEST_REASON]) or None
                return text, ""
            reason = "it leaves out part of the conversation"
        return None, reason

    def _render(
        self,
        template: jinja2.Template,
        messages: Sequence[Message],
        variables: Variables = NO_VARIABLES,
        tools: Sequence[Tool] = (),
    ) -> str:
        names = {call.id: call.name for message in messages for call in message.tool_calls}
        turns = [_turn(message, names) for message in messages]
        known = {**self._names, **variables, "messages": turns}
        if tools:
            known["tools"] = [tool_object(tool) for tool in tools]
        return sandbox.render_template(template, known)

    def _give_up(self, why: str) -> None:
        """Use the built-in template for all conversations."""
        self._given_up = self.warning = why


_TOO_SLOW = (
    f"The model's chat template did not end within {sandbox.LONGEST_S:.0f} seconds; a built-in one "
    "is used until the model is loaded again. Another file of this model may have a sound template."
)


def _failure(reason: str, where: str = "") -> str:
    why = reason[:LONGEST_REASON]
    return f"The model's chat template fails ({why}); a built-in one is used{where}."


_SIMPLEST = (Message("user", "?"),)
"""If a template fails for this conversation, it fails for all."""
_NO_SYSTEM = "This model takes no system prompt; yours is put in the first question."
_JOINED = "This model's chat template alternates roles; messages of the same role are joined."
_REFUSED = "The model's chat template refuses this value ({reason})."
_Variant = tuple[Sequence[Message], Variables, str]


def _variants(messages: Sequence[Message], variables: Variables) -> Iterator[_Variant]:
    """Yield the variants of a conversation to try in turn, each with the warning for the user."""
    joined = _join_same_roles(messages)
    for known in (variables, NO_VARIABLES) if variables else (variables,):
        yield messages, known, _REFUSED if known != variables else ""
        yield _without_system(messages), known, _NO_SYSTEM
        yield joined, known, _JOINED
        yield _without_system(joined), known, _JOINED


def _turn(message: Message, names: Mapping[str, str]) -> dict[str, object]:
    """Return a message as templates expect it; they may leave out its thought.

    `names` maps the ids of calls to the names of the tools.
    """
    turn: dict[str, object] = {"role": message.role, "content": message.content}
    if message.thought:  # by two names: Qwen's and most others', gpt-oss's and Liquid's
        turn |= dict.fromkeys(("reasoning_content", "thinking"), message.thought)
    if message.tool_calls:
        turn["tool_calls"] = [
            {
                "id": short_id(call.id),
                "type": "function",
                "function": {"name": call.name, "arguments": read_json(call.arguments)},
            }
            for call in message.tool_calls
        ]
    if message.role == "tool":
        turn |= {"tool_call_id": short_id(message.call_id), "name": names.get(message.call_id, "")}
    return turn


def _without_system(messages: Sequence[Message]) -> Sequence[Message]:
    """Move the system prompt into the first question, for templates that have no system role."""
    if [message.role for message in messages[:2]] != ["system", "user"]:
        return messages
    system, first, *rest = messages
    return [Message(first.role, f"{system.content}\n\n{first.content}"), *rest]


def _join_same_roles(messages: Sequence[Message]) -> Sequence[Message]:
    """Join adjacent messages of the same role, for templates that require alternating roles.

    System messages after the first turn become the user's.
    """
    lead = len([*takewhile(lambda message: message.role == "system", messages)])
    later = (replace(m, role="user") if m.role == "system" else m for m in messages[lead:])
    joined: list[Message] = []
    for role, group in groupby([*messages[:lead], *later], key=lambda message: message.role):
        row = [*group]
        if role != "tool" and not any(message.tool_calls for message in row):
            content = "\n\n".join(message.content for message in row)
            thought = "\n\n".join(message.thought for message in row if message.thought)
            row = [replace(row[0], content=content, thought=thought)]
        joined += row
    return joined


def _required_messages(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages that a prompt must contain: system prompt, last one, tools' results."""
    system = [message for message in messages[:1] if message.role == "system"]
    question = max((i for i, message in enumerate(messages) if message.role == "user"), default=0)
    results = [message for message in messages[question:-1] if message.role == "tool"]
    return [*system, *results, *messages[-1:]]
