"""Conversations to tokens, so that nothing a user typed can become a control token.

Rendering the template and tokenising the result would let a message that contains the text of a
control token end its own turn and speak as the system. So every such text in a message is masked
before rendering; what then looks like a control token was written by the template, and what was
masked is tokenised as the plain text it is.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from assistant.calling.formats import HERMES, PROBE, PROBE_TOOL, CallFormat, find_format
from assistant.calling.wording import in_words, plain_json
from assistant.chat.template import CHATML, NO_VARIABLES, PLAIN, ChatTemplate, Variables
from assistant.chat.thinking import (
    AnswerStart,
    PartPosition,
    ThoughtBudget,
    ThoughtEnd,
    find_markers,
)
from assistant.request import Message, Request, Tool
from models.base import Vocab
from models.errors import ModelError, UsageError

# Characters that stand for nothing in anybody's text: for private use, and not characters at all.
MEANINGLESS = (*range(0xE000, 0xF900), *range(0xFDD0, 0xFDF0), *range(0xF0000, 0xFFFFE))
SWITCHES = ("enable_thinking", "thinking")
"""What templates call the switch of thinking."""
EFFORT, BUDGET = "reasoning_effort", "thinking_budget"
_TAGS = tuple(f"<{end}tool_{what}>" for end in ("", "/") for what in ("call", "response"))
"""What some vocabularies have as tokens that are text; nobody's text may contain such a token."""
_TAIL = 24  # tokens at the end of a prompt that may open a thought


NO_THOUGHTS = "This model does not think: its chat template has no mark for thoughts."
NO_TOOLS = "This model's chat template knows no tools; they are put in words."
NO_EFFORT = "This model's chat template takes no effort; it was left out."


class Masks(NamedTuple):
    """The characters that surround the number of what they stand for."""

    control: str
    answer: str


class Beginning(NamedTuple):
    """Where an answer begins."""

    start: int  # its place in the prompt: at the end, unless it is continued
    before: PartPosition  # of the first token there
    now: PartPosition  # after what there is of it


class ChatTokens:
    """Tokenise conversations for one vocabulary and its template."""

    def __init__(self, vocab: Vocab) -> None:
        self._vocab = vocab
        self.worded = False
        """Whether the last prompt has put tools in words: the template does not know them."""
        fallback = CHATML if "<|im_start|>" in vocab.controls else PLAIN
        self.template = ChatTemplate(vocab.template, fallback, vocab.bos_text, vocab.eos_text)
        tags = [tag for tag in _TAGS if tag not in vocab.controls and self._is_token(tag)]
        self._names = sorted([*vocab.controls, *tags], key=len, reverse=True)
        self._masked_names = _any_of(self._names)
        self._masked_json = _any_of([json.dumps(name)[1:-1] for name in self._names])
        self._control = _any_of([name for name in self._names if name in vocab.controls])
        self.markers = find_markers(vocab.template or "", self._is_token)
        """How the model marks its thoughts; None if it has none."""

    def encode(
        self,
        messages: Sequence[Message],
        variables: Variables = NO_VARIABLES,
        tools: Sequence[Tool] = (),
    ) -> list[int]:
        """Return the tokens of the prompt that asks for the next answer.

        Earlier answers keep the tokens they were decoded as: the same text may have others, and the
        caches hold these. An answer at the end is left open, to be continued.
        """
        if messages and messages[-1].role == "assistant":
            prompt = self.encode(messages[:-1], variables, tools)
            return [*prompt, *self._begun(messages[-1], variables)]
        messages = [_with_plain_json(message) for message in messages]
        tools = [replace(tool, parameters=plain_json(tool.parameters)) for tool in tools]
        written = [text for message in messages for text in message.texts]
        written += [text for tool in tools for text in tool.texts]
        masks = _unused_characters("".join([*written, *self._names, self._vocab.template or ""]))
        rendered = self._rendered(messages, variables, tools, masks)
        tokens = self._tokenize(rendered, messages, masks)
        if self._vocab.bos is not None and tokens[:1] != [self._vocab.bos]:
            tokens.insert(0, self._vocab.bos)
        if not tokens:
            raise ModelError("The model's vocabulary has no tokens for any of this text.")
        return tokens

    # Calls

    @property
    def calls(self) -> CallFormat:
        """How the last prompt has told the model to write calls."""
        return (not self.worded and self._own_calls) or HERMES

    @cached_property
    def _own_calls(self) -> CallFormat | None:
        """How the template writes calls; None if it writes none, or they are not understood."""
        return find_format(self.template.render_tools(PROBE, tools=(PROBE_TOOL,)) or "")

    def mark_calls(self, token: int) -> str:
        """Return the name of a control token that marks thoughts or calls; else nothing."""
        name = self._vocab.text(token)
        is_mark = any(name in text for text in self.calls.texts)
        return name if name in self._vocab.controls and is_mark else self.mark(token)

    def _rendered(
        self,
        messages: Sequence[Message],
        variables: Variables,
        tools: Sequence[Tool],
        masks: Masks,
    ) -> str:
        """Render a conversation with masks; tools in words, where the template has none."""

        def masked(keeps: bool = True) -> list[Message]:
            return [
                self._masked(each, i, masks, keeps or not each.calls)
                for i, each in enumerate(messages)
            ]

        self.worded = False
        if not tools and not any(each.calls or each.role == "tool" for each in messages):
            return self.template.render(masked(), variables)
        offered = [self._masked_tool(tool, masks) for tool in tools]
        form = self._own_calls
        for keeps in (True, False) if form else ():
            # Some templates want to see calls before there are results, or leave these out.
            said = masked(keeps)
            text = self.template.render_tools(said, variables, offered)
            results = (each.content.strip() for each in said if each.role == "tool")
            if (
                form
                and text is not None
                and (not keeps or all(result in text for result in results))
            ):
                return text + (form.begun if form.ended and text.endswith(form.ended) else "")
        self.worded = True
        return self.template.render(in_words(masked(), offered), variables)

    # Thoughts

    @property
    def takes_effort(self) -> bool:
        """Whether the template can tell the model how much to think."""
        return EFFORT in self.template.variables

    def variables(self, request: Request) -> Variables:
        """Return what the template is to be told of the thinking that a request asks for."""
        wanted: dict[str, object] = {}
        if request.thinking != "auto":
            wanted |= dict.fromkeys(SWITCHES, request.thinking == "on")
        tokens = 0 if request.thinking == "off" else request.thinking_budget
        wanted |= {BUDGET: tokens, EFFORT: request.effort}
        known = self.template.variables
        return {name: wanted[name] for name in wanted if name in known and wanted[name] is not None}

    def remarks(self, request: Request) -> Iterator[str]:
        """Yield what this model cannot do of the thinking that is asked for, in sentences."""
        if request.thinking == "on" and self.markers is None:
            yield NO_THOUGHTS
        if request.effort and not self.takes_effort:
            yield NO_EFFORT
        if request.tools and self.worded:
            yield NO_TOOLS

    def beginning(self, request: Request, prompt: Sequence[int]) -> Beginning:
        """Return where the answer to a prompt begins."""
        last = request.messages[-1:] if request.continues else ()
        begun = [token for each in last for token in self._begun(each, self.variables(request))]
        start = len(prompt) - len(begun)
        at = before = self._opened(prompt[:start])
        if self.markers is not None:
            for token in begun:
                at, _ = self.markers.read(at, self.spell(token))
        return Beginning(start, before, at)

    def budget(self, request: Request, beginning: Beginning) -> ThoughtBudget | None:
        """Return what ends the thought of an answer; None where nothing is to end it.

        Where the template has no switch, a thought that is not wanted ends before its first token.
        """
        tokens = request.thinking_budget
        if request.thinking == "off":
            tokens = None if self.template.variables & {*SWITCHES, BUDGET} else 0
        if tokens is None or self.markers is None:
            return None
        start, before, _ = beginning
        closing = self._plain(self.markers.closes)
        return ThoughtBudget(self.markers, self.spell, before, start, tokens, closing)

    def answer_start(self, beginning: Beginning) -> AnswerStart:
        """Return what finds the answer after the thought, if the prompt opens one."""
        start, before, _ = beginning
        if self.markers is None or before.place != "thought":
            return lambda context: start
        return ThoughtEnd(self.markers, self.spell, before, start)

    def thought_first(self, request: Request, beginning: Beginning) -> tuple[str, str] | None:
        """Return what stands around a thought that an answer may begin with, by itself."""
        if self.markers is None or request.thinking == "off" or beginning.before.place != "start":
            return None
        return self.markers.opens, self.markers.closes

    def spell(self, token: int) -> str:
        """Return the text of a token; its name, if it is a control token that marks thoughts."""
        piece = self._vocab.piece(token).decode("utf-8", "replace")
        return piece or self.mark(token)

    def mark(self, token: int) -> str:
        """Return the name of a control token that marks thoughts; of all others, nothing."""
        if self.markers is None:
            return ""
        name = self._vocab.text(token)
        return name if any(name in mark for mark in self.markers.texts) else ""

    def _is_token(self, text: str) -> bool:
        return text in self._vocab.controls or len(self._vocab.tokenize(text)) == 1

    def _plain(self, text: str) -> list[int]:
        """Return the tokens of what a template might write."""
        return self._tokenize(text, (), _unused_characters(text))

    def _opened(self, prompt: Sequence[int]) -> PartPosition:
        """Return where an answer begins: the prompt may have opened a thought already."""
        if self.markers is None:
            return PartPosition()
        end = "".join(map(self.spell, prompt[-_TAIL:])).rstrip()
        return (
            PartPosition("thought", fresh=True)
            if end.endswith(self.markers.opens.rstrip())
            else PartPosition()
        )

    def _begun(self, answer: Message, variables: Variables) -> Sequence[int]:
        """Return the tokens of an answer that is continued."""
        if answer.token_ids or self.markers is None or not answer.thought:
            return answer.token_ids or self._vocab.tokenize(answer.content)
        opened = self._opened(self.encode([Message("user", "?")], variables)).place == "thought"
        begun = [*([] if opened else self._plain(self.markers.opens))]
        begun += self._vocab.tokenize(answer.thought)
        if answer.content:
            begun += self._plain(self.markers.closes)
            begun += self._vocab.tokenize(f"\n\n{answer.content}")
        return begun

    def _masked(self, message: Message, index: int, masks: Masks, keeps: bool = True) -> Message:
        """Replace what must not be tokenised as it stands: control texts, and whole answers.

        With `keeps` these are put in as they were decoded, calls and all.
        """
        if keeps and self._keeps_tokens(message):
            return replace(message, content=f"{masks.answer}{index}{masks.answer}", calls=())
        content, thought = (
            self._without_controls(text, masks) for text in (message.content, message.thought)
        )
        calls = tuple(
            replace(
                call,
                name=self._without_controls(call.name, masks),
                arguments=self._without_controls(call.arguments, masks, is_json=True),
            )
            for call in message.calls
        )
        return replace(message, content=content, thought=thought, calls=calls)

    def _masked_tool(self, tool: Tool, masks: Masks) -> Tool:
        name, description = (
            self._without_controls(text, masks) for text in (tool.name, tool.description)
        )
        return Tool(name, description, self._without_controls(tool.parameters, masks, True))

    def _without_controls(self, text: str, masks: Masks, is_json: bool = False) -> str:
        def number(match: re.Match[str]) -> str:
            name = json.loads(f'"{match[0]}"') if is_json else match[0]
            return f"{masks.control}{self._names.index(name)}{masks.control}"

        return (self._masked_json if is_json else self._masked_names).sub(number, text)

    def _keeps_tokens(self, message: Message) -> bool:
        """Say whether an answer is tokenised as it was decoded: no template has to look at it."""
        if self.markers is None or not message.token_ids:
            return bool(message.token_ids) and "</think>" not in message.content
        said = "".join(map(self.spell, message.token_ids))
        return not message.thought and self.markers.closes not in said + message.content

    def _tokenize(self, rendered: str, messages: Sequence[Message], masks: Masks) -> list[int]:
        masked = re.compile(f"{masks.control}(\\d+){masks.control}")

        def name(match: re.Match[str]) -> str:
            name = self._names[int(match[1])]  # a tag is tokenised in two, lest it become a token
            return name if name in self._vocab.controls else f"{name[0]}{masks.control}{name[1:]}"

        def plain(text: str) -> list[int]:
            parts = masked.sub(name, text).split(masks.control)
            return [token for part in parts for token in self._vocab.tokenize(part)]

        tokens: list[int] = []
        end = 0
        atoms = re.compile(f"{masks.answer}(\\d+){masks.answer}|{self._control.pattern}")
        for atom in atoms.finditer(rendered):
            tokens += plain(rendered[end : atom.start()])
            answer = atom[1]
            tokens += messages[int(answer)].token_ids if answer else [self._vocab.controls[atom[0]]]
            end = atom.end()
        return tokens + plain(rendered[end:])


def _any_of(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, names)) or "(?!)")


def _with_plain_json(message: Message) -> Message:
    calls = (replace(call, arguments=plain_json(call.arguments)) for call in message.calls)
    return replace(message, calls=tuple(calls))


def _unused_characters(text: str) -> Masks:
    """Return two meaningless characters that `text` does not contain."""
    unused = (character for character in map(chr, MEANINGLESS) if character not in text)
    found = tuple(islice(unused, 2))
    if len(found) < 2:
        raise UsageError("The conversation contains every private-use character; two must be free.")
    return Masks(*found)
