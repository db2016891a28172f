"""Conversations to tokens: the template rendered, thoughts and calls in their places."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

from assistant.calling.formats import HERMES, PROBE, PROBE_TOOL, CallFormat, find_format
from assistant.calling.wording import in_words, plain_json
from assistant.chat.masking import ControlTexts, Masking, is_token
from assistant.chat.template import CHATML, NO_VARIABLES, PLAIN, ChatTemplate, Variables
from assistant.chat.thinking import PartPosition, find_markers
from assistant.chat.thought_end import AnswerStart, ThoughtBudget, ThoughtEnd
from assistant.request import Message, Request, Tool
from models.base import Vocab
from models.errors import ModelError

SWITCHES = ("enable_thinking", "thinking")
"""What templates call the switch of thinking."""
EFFORT, BUDGET = "reasoning_effort", "thinking_budget"
_TAIL = 24  # tokens at the end of a prompt that may open a thought


NO_THOUGHTS = "This model does not think: its chat template has no mark for thoughts."
NO_TOOLS = "This model's chat template knows no tools; they are put in words."
NO_EFFORT = "This model's chat template takes no effort; it was left out."


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
        self._controls = ControlTexts(vocab)
        self.markers = find_markers(vocab.template or "", partial(is_token, vocab))
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
        masking = Masking(self._controls, [*written, self._vocab.template or ""])
        rendered = self._rendered(messages, variables, tools, masking)
        tokens = masking.tokenize(rendered, messages)
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
        masking: Masking,
    ) -> str:
        """Render a conversation with masks; tools in words, where the template has none."""

        def masked(keeps: bool = True) -> list[Message]:
            return [
                masking.answer(each, i)
                if (keeps or not each.calls) and self._keeps_tokens(each)
                else masking.message(each)
                for i, each in enumerate(messages)
            ]

        self.worded = False
        if not tools and not any(each.calls or each.role == "tool" for each in messages):
            return self.template.render(masked(), variables)
        offered = [masking.tool(tool) for tool in tools]
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

    def _plain(self, text: str) -> list[int]:
        """Return the tokens of what a template might write."""
        return Masking(self._controls, [text]).tokenize(text)

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

    def _keeps_tokens(self, message: Message) -> bool:
        """Say whether an answer is tokenised as it was decoded: no template has to look at it."""
        if self.markers is None or not message.token_ids:
            return bool(message.token_ids) and "</think>" not in message.content
        said = "".join(map(self.spell, message.token_ids))
        return not message.thought and self.markers.closes not in said + message.content


def _with_plain_json(message: Message) -> Message:
    calls = (replace(call, arguments=plain_json(call.arguments)) for call in message.calls)
    return replace(message, calls=tuple(calls))
