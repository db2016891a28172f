"""Masks for one prompt, so that nothing a user typed can become a control token.

If a rendered template were tokenised as it is, a message with the text of a control token could end
its own turn and speak as the system. So these texts are masked in messages before rendering. After
that, all control tokens are the template's, and what was masked is tokenised as plain text.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from assistant.request import Message, Tool
from models.errors import UsageError
from models.native.vocab import Vocab

# Characters without a meaning: for private use, and noncharacters of Unicode.
MEANINGLESS = (*range(0xE000, 0xF900), *range(0xFDD0, 0xFDF0), *range(0xF0000, 0xFFFFE))
_TAGS = tuple(f"<{end}tool_{what}>" for end in ("", "/") for what in ("call", "response"))
"""Tags that are ordinary tokens in some vocabularies; messages must not contain these tokens."""


class ControlTexts:
    """The texts in messages that must not become single tokens of a vocabulary.

    `marks` are more of them, which templates look for in messages.
    """

    def __init__(self, vocab: Vocab, marks: Iterable[str]) -> None:
        self.vocab = vocab
        tags = {tag for tag in _TAGS if is_token(vocab, tag)} | {*marks}
        tags |= {vocab.bos_text} if vocab.bos is not None else set()
        self.names = sorted({*vocab.controls} | tags, key=len, reverse=True)
        self.text_pattern = _any_of(self.names)
        self.json_pattern = _any_of([json.dumps(name)[1:-1] for name in self.names])
        self.template_pattern = _any_of([name for name in self.names if name in vocab.controls])

    def tokenize(self, text: str) -> list[int]:
        """Return the tokens of a text that may hold control tokens, as a template's may."""
        return Masking(self, [text]).tokenize(text)


class Masking:
    """Mask the texts of one prompt, and tokenise it after it is rendered.

    `texts` are all that it may contain; UsageError if they leave no unused character for masks.
    """

    def __init__(self, controls: ControlTexts, texts: Iterable[str]) -> None:
        self._controls = controls
        text = "".join([*texts, *controls.names])
        unused = (character for character in map(chr, MEANINGLESS) if character not in text)
        # Two unused characters: each encloses the number of a control text, or of an answer.
        self._control, self._answer = next(unused, ""), next(unused, "")
        if not self._answer:
            why = "The conversation contains every private-use character; two must be free."
            raise UsageError(why)

    def answer(self, message: Message, index: int) -> Message:
        """Mask a whole answer with its calls, so that it keeps the tokens it was decoded as."""
        return replace(message, content=f"{self._answer}{index}{self._answer}", tool_calls=())

    def message(self, message: Message) -> Message:
        """Mask the control texts in a message."""
        tool_calls = tuple(
            replace(call, name=self._mask(call.name), arguments=self._mask_json(call.arguments))
            for call in message.tool_calls
        )
        content, thought = self._mask(message.content), self._mask(message.thought)
        return replace(message, content=content, thought=thought, tool_calls=tool_calls)

    def tool(self, tool: Tool) -> Tool:
        """Mask the control texts in a tool's name, description and schema."""
        name, description = self._mask(tool.name), self._mask(tool.description)
        return Tool(name, description, self._mask_json(tool.parameters))

    def tokenize(self, rendered: str, messages: Sequence[Message] = ()) -> list[int]:
        """Return the tokens of a rendered prompt, with the masked answers' own tokens."""
        vocab = self._controls.vocab
        tokens: list[int] = []
        end = 0
        atoms = rf"{self._answer}(\d+){self._answer}|{self._controls.template_pattern.pattern}"
        for atom in re.finditer(atoms, rendered):
            tokens += self._tokenize_plain(rendered[end : atom.start()])
            answer = atom[1]
            tokens += messages[int(answer)].token_ids if answer else [vocab.controls[atom[0]]]
            end = atom.end()
        return tokens + self._tokenize_plain(rendered[end:])

    def _mask(self, text: str) -> str:
        return self._controls.text_pattern.sub(lambda match: self._masked(match[0]), text)

    def _mask_json(self, text: str) -> str:
        return self._controls.json_pattern.sub(
            lambda match: self._masked(json.loads(f'"{match[0]}"')), text
        )

    def _masked(self, name: str) -> str:
        return f"{self._control}{self._controls.names.index(name)}{self._control}"

    def _tokenize_plain(self, text: str) -> list[int]:
        """Return the tokens of a text with its masks undone; none of them is a control token."""
        vocab, mask = self._controls.vocab, self._control

        def unmasked(match: re.Match[str]) -> str:
            name = self._controls.names[int(match[1])]
            # A tag is tokenised in two pieces, so that it cannot become one token.
            return name if name in vocab.controls else f"{name[0]}{mask}{name[1:]}"

        parts = re.sub(rf"{mask}(\d+){mask}", unmasked, text).split(mask)
        return [token for part in parts for token in vocab.tokenize(part)]


def is_token(vocab: Vocab, text: str) -> bool:
    """Return whether a text is one token of a vocabulary."""
    return text in vocab.controls or len(vocab.tokenize(text)) == 1


def _any_of(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, names)) or "(?!)")
