"""Conversations to tokens, so that nothing a user typed can become a control token.

Rendering the template and tokenising the result would let a message that contains the text of a
control token end its own turn and speak as the system. So every such text in a message is masked
before rendering; what then looks like a control token was written by the template, and what was
masked is tokenised as the plain text it is.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from assistant.chat.template import CHATML, PLAIN, ChatTemplate
from assistant.request import Message
from models.base import Vocab
from models.errors import ModelError, UsageError

# Characters that stand for nothing in anybody's text: for private use, and not characters at all.
MEANINGLESS = (*range(0xE000, 0xF900), *range(0xFDD0, 0xFDF0), *range(0xF0000, 0xFFFFE))


class Masks(NamedTuple):
    """The characters that surround the number of what they stand for."""

    control: str
    answer: str


class ChatTokens:
    """Tokenise conversations for one vocabulary and its template."""

    def __init__(self, vocab: Vocab) -> None:
        self._vocab = vocab
        fallback = CHATML if "<|im_start|>" in vocab.controls else PLAIN
        self.template = ChatTemplate(vocab.template, fallback, vocab.bos_text, vocab.eos_text)
        self._names = sorted(vocab.controls, key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, self._names)) or "(?!)")

    def encode(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of the prompt that asks for the next answer.

        Earlier answers keep the tokens they were decoded as: the same text may have others, and the
        caches hold these. An answer at the end is left open, to be continued.
        """
        if messages and messages[-1].role == "assistant":
            answer = messages[-1]
            begun = answer.token_ids or self._vocab.tokenize(answer.content)
            return [*self.encode(messages[:-1]), *begun]
        written = [message.content for message in messages]
        masks = _unused_characters("".join([*written, *self._names, self._vocab.template or ""]))
        rendered = self.template.render(
            [self._masked(message, i, masks) for i, message in enumerate(messages)]
        )
        tokens = self._tokenize(rendered, messages, masks)
        if self._vocab.bos is not None and tokens[:1] != [self._vocab.bos]:
            tokens.insert(0, self._vocab.bos)
        if not tokens:
            raise ModelError("The model's vocabulary has no tokens for any of this text.")
        return tokens

    def _masked(self, message: Message, index: int, masks: Masks) -> Message:
        """Replace what must not be tokenised as it stands: control texts, and whole answers."""
        if _keeps_tokens(message):
            return replace(message, content=f"{masks.answer}{index}{masks.answer}")

        def number(match: re.Match[str]) -> str:
            return f"{masks.control}{self._names.index(match[0])}{masks.control}"

        return replace(message, content=self._control.sub(number, message.content))

    def _tokenize(self, rendered: str, messages: Sequence[Message], masks: Masks) -> list[int]:
        masked = re.compile(f"{masks.control}(\\d+){masks.control}")

        def plain(text: str) -> list[int]:
            return self._vocab.tokenize(masked.sub(lambda match: self._names[int(match[1])], text))

        tokens: list[int] = []
        end = 0
        atoms = re.compile(f"{masks.answer}(\\d+){masks.answer}|{self._control.pattern}")
        for atom in atoms.finditer(rendered):
            tokens += plain(rendered[end : atom.start()])
            answer = atom[1]
            tokens += messages[int(answer)].token_ids if answer else [self._vocab.controls[atom[0]]]
            end = atom.end()
        return tokens + plain(rendered[end:])


def _keeps_tokens(message: Message) -> bool:
    # Templates cut the reasoning out of earlier answers, which they must read to do.
    return bool(message.token_ids) and "</think>" not in message.content


def _unused_characters(text: str) -> Masks:
    """Return two meaningless characters that `text` does not contain."""
    unused = (character for character in map(chr, MEANINGLESS) if character not in text)
    found = tuple(islice(unused, 2))
    if len(found) < 2:
        raise UsageError("The conversation contains every private-use character; two must be free.")
    return Masks(*found)
