"""What a model's chat template does to a conversation, tested by rendering some.

A template is a program that comes with the weights and sees every prompt. It can leave messages out
and put words in; both change what the model is asked, and neither is visible in the chat.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from assistant.chat.template import PLAIN, ChatTemplate
from assistant.request import Message
from models import catalog, child_process, gguf

_TURNS = (
    Message("system", "Zeroth xylophone."),
    Message("user", "First zeppelin?"),
    Message("assistant", "Second quagmire."),
    Message("user", "Third kumquat?"),
    Message("assistant", "Fourth obelisk."),
    Message("user", "Fifth wombat?"),
)
_MARKS = re.compile(r"<{1,2}/?[^<>\s]{1,40}>{1,2}|\[/?\w{2,30}\]")
_ROLES = re.compile(
    r"\b(system|user|assistant|model|human|chatbot|instruction|response|gpt4 correct)\b", re.I
)
_DATES = re.compile(r"(Cutting Knowledge|Today) Date: (\d\d )?\w{3,9} \d{4}")  # Llama's own
PATIENCE_S = 20.0
"""Seconds for all that a probe does; an honest template takes a hundredth of one."""
_FEW = 12  # letters of a template's own that may be words for roles which are not known
_QUOTED = 160


@dataclass(frozen=True, slots=True)
class Remark:
    """One finding about a template."""

    text: str
    suspicious: bool


def examine(header: gguf.Header) -> tuple[Remark, ...]:
    """Return the findings about a file's chat template, suspicious ones first.

    A template that treats only other conversations badly passes the probe; but it is still reported
    as not being the published one.
    """
    if header.template is None:
        return ()
    found = [*_comparison(header), *_probed(header.template)]
    return tuple(sorted(found, key=lambda remark: not remark.suspicious))


def _probed(source: str) -> Iterator[Remark]:
    """Probe a template in a separate process, which can be ended if it computes without end."""
    try:
        done = subprocess.run(
            child_process.command(__name__),
            input=source.encode(errors="replace"),
            capture_output=True,
            env=child_process.environment(),
            timeout=PATIENCE_S,
            check=True,
        )
    except subprocess.TimeoutExpired:
        yield Remark(f"It does not finish within {PATIENCE_S:.0f} seconds.", True)
    except subprocess.CalledProcessError:
        yield Remark("It crashes the program that renders it.", True)
    else:
        yield from (Remark(*remark) for remark in json.loads(done.stdout))


def probe(source: str) -> Iterator[Remark]:
    """Render conversations with a template, and yield what it does besides writing them."""
    template = ChatTemplate(source, PLAIN, "<s>", "</s>")
    rendered = template.render(_TURNS)
    if template.notice:
        yield Remark(template.notice, template.fails)
    if template.fails:
        return
    missing = [turn for turn in _TURNS if turn.content not in rendered]
    if missing:
        yield Remark(f"It leaves out {len(missing)} of {len(_TURNS)} messages.", True)
    if added := _added(rendered):
        yield Remark(f"It adds words of its own: {added!r}", True)
    elif added := _added(template.render(_TURNS[1:2])):
        yield Remark(f"Without a system prompt it uses its own: {added!r}", False)


def _comparison(header: gguf.Header) -> Iterator[Remark]:
    """Yield whether the template is the one that is known for models of this vocabulary."""
    digests = header.prompt_digests
    known = catalog.templates_of(digests.get("vocabulary"))
    if digests.get("chat template") in known:
        yield Remark("It is the published one.", False)
    elif known:
        yield Remark("It is not the known template for models with this vocabulary.", True)


def _added(rendered: str) -> str:
    """Return the lines of a prompt that hold more than messages, roles and marks."""
    for turn in _TURNS:
        rendered = rendered.replace(turn.content, "\n")
    lines = _DATES.sub("", _MARKS.sub("\n", rendered)).splitlines()
    own = {line.strip(): sum(map(str.isalpha, _ROLES.sub("", line))) for line in lines}
    text = " ".join(line for line, letters in own.items() if letters)
    return text[:_QUOTED] if sum(own.values()) > _FEW else ""


if __name__ == "__main__":
    remarks = probe(sys.stdin.buffer.read().decode())
    print(json.dumps([(remark.text, remark.suspicious) for remark in remarks]))
