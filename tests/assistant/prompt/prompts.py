"""Chat templates, and conversations for them."""

from contextlib import contextmanager
from pathlib import Path

from assistant.events import Origin, Token
from assistant.prompt.prompt_tokens import ChatTokens
from assistant.request import Message
from models.native.vocab import Vocab
from models.native.weights import Weights
from tests import tiny

CALLED = "{{ c.function.name }}%s{{ c.function.arguments | tojson }}"

TAGGED = '\n<tool_call>\n{"name": "' + CALLED % '", "arguments": ' + "}\n</tool_call>"


def template(before="", call=TAGGED, joins="", after="", result="{{ m.content }}"):
    """Return a template that writes calls and results in some way."""
    return (
        "{% for t in tools or [] %}{{ t | tojson }}{% endfor %}"
        "{% for m in messages %}<|im_start|>{{ m.role }}\n"
        f"{{% if m.role == 'tool' %}}{result}"
        f"{{% elif m.tool_calls %}}{{{{ m.content }}}}{before}"
        f"{{% for c in m.tool_calls %}}{call}{{% if not loop.last %}}{joins}{{% endif %}}"
        f"{{% endfor %}}{after}{{% else %}}{{{{ m.content }}}}{{% endif %}}"
        "<|im_end|>\n{% endfor %}{{ '<|im_start|>assistant\n' }}"
    )


STRINGS = (
    "<|tool_call>call:{{ c.function.name }}{{ '{' }}"
    '{% for k, v in c.function.arguments | items %}{{ k }}:<|"|>{{ v }}<|"|>{% endfor %}'
    "}<tool_call|>"
)


@contextmanager
def vocabulary(path: Path):
    weights = Weights(path)
    try:
        yield weights.vocab
    finally:
        weights.close()


@contextmanager
def chat_of(folder, template=tiny.TEMPLATE, **options):
    with vocabulary(tiny.write(folder / "m.gguf", template=template, **options)) as vocab:
        yield vocab, ChatTokens(vocab)


def token(text: str, number: int = 0) -> Token:
    """Return a token of an answer."""
    return Token(number, text, Origin.TARGET, None, 1.0, None)


def control_count(vocab: Vocab, tokens: list[int]) -> int:
    return sum(token in vocab.controls.values() for token in tokens)


def bytes_of(vocab: Vocab, tokens: list[int]) -> bytes:
    return b"".join(map(vocab.piece, tokens))


def encode(messages):
    """One token a character, and two to ask for the answer."""
    text = "".join(message.role[0] + message.content for message in messages)
    return [*map(ord, text), 1, 2]


def conversation(*lengths, system=5):
    """Return a system prompt and turns of question and answer; the last question is open."""
    messages = [Message("system", "S" * system)] if system else []
    for i, length in enumerate(lengths):
        letter = chr(97 + i % 26)
        messages.append(Message("user", letter * length))
        if i < len(lengths) - 1:
            messages.append(Message("assistant", letter.upper() * length))
    return messages
