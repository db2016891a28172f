"""How models, modes, tool calls, stop reasons and figures are shown, everywhere."""

import json
import re
import sys
from collections.abc import Sequence
from functools import cache

from assistant.calling.formats import read_json
from assistant.events import Stats, Tally
from assistant.request import Mode, ToolCall
from assistant.store.values import MARKS, Attachment, StoredMessage
from assistant.tools.values import BUILT_IN, OfferedTool
from models.catalog import FILES
from tui.formatting import size

MODES: dict[Mode, str] = {"auto": "guesses auto", "sps": "guesses always", "ars": "guesses off"}
"""The names of the modes, in the order in which a key steps through them."""
ON_MACOS = "Shift+Tab" if sys.platform == "darwin" else None
"""The key that goes to the messages where the system takes Ctrl+↑, for Mission Control."""
TO_MESSAGES = ON_MACOS or "Ctrl+↑"
"""The key that goes to the messages."""

LONGEST_REASON = 200
"""Characters shown of the reason why a tool call failed."""
_CALL_ENDS = {
    "refused": "refused",
    "cancelled": "stopped",
    "failed": "failed",
    "interrupted": "interrupted: the program ended before it returned",
}
_SIZE = re.compile(r"(?i)[ae]?\d+(\.\d+)?[bm]")
_NAME_WORD = re.compile(r"(?i)[a-z]+|[ae]\d+b|\d{4}")
_DROPPED = {"instruct", "chat", "it", "gguf", "awq", "hf"}


@cache
def model_name(title: str) -> str:
    """Return the short name of a model or its file: `Qwen2.5 Coder 1.5B`.

    Words after the size are dropped if they describe the file; a title without a size is unchanged.
    """
    words = re.split(r"[\s-]+", title.removesuffix(".gguf"))
    size = next((i for i, word in enumerate(words) if _SIZE.fullmatch(word)), None)
    if size is None:
        return title
    after = filter(_NAME_WORD.fullmatch, words[size + 1 :])
    words_kept = (*words[:size], words[size].upper(), *after)
    name = " ".join(_spelt(word) for word in words_kept if word.lower() not in _DROPPED)
    return name[:1].upper() + name[1:]


def _spelt(word: str) -> str:
    """Return a word with the capitals that it has in the catalogue."""
    parts = (part for gguf in FILES.values() for part in gguf.file.split("-"))
    return next((part for part in parts if part.lower() == word.lower() != part), word)


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: `1 token`, `1,234 tokens`."""
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def figures(stats: Stats) -> list[str]:
    """Return the figures of an answer, the number of tokens first; empty without tokens."""
    if not stats.generated_tokens:
        return []
    parts = [plural(stats.generated_tokens, "token"), f"{stats.tokens_per_s:.1f} tokens/s"]
    if stats.acceptance_rate is not None:
        parts.append(f"{stats.acceptance_rate:.0%} of guesses right")
    return parts


def footnote(answer: StoredMessage) -> str:
    """Return the line below an answer: why it ended early, and its figures."""
    mark = MARKS.get(answer.stop or "") or MARKS.get(answer.state)
    parts = [mark] if mark else []
    if answer.tool_calls:
        parts.append(f"asks for {', '.join(call.name for call in answer.tool_calls)}")
    elif not answer.content and answer.state == "complete":
        end = "while thinking" if answer.thought else "without writing anything"
        parts.append(f"the model ended its turn {end}")
    return " · ".join([*parts, *(figures(answer.stats) if answer.stats else [])])


def named_sources(answer: str, sources: Sequence[Attachment]) -> str:
    """Return the sources that an answer cites, or only quotes, in a line."""
    from assistant.session.citing import cited_numbers  # most answers have no sources

    cites = not {source.number for source in sources}.isdisjoint(cited_numbers(answer))
    line = " · ".join(source.title for source in sources)
    return line if cites or not sources else f"Quoted but not cited: {line}"


def constraint_figures(stats: Stats) -> str:
    """Return how many tokens the constraint fixed, and what it cost."""
    fixed = stats.sources.get("form", Tally()).accepted
    mask_ms = 1e3 * stats.mask_s / stats.masked_rows
    return (
        f"The form fixed {fixed:,} of {plural(stats.generated_tokens, 'token')}; "
        f"checking it cost {mask_ms:.2f} ms a token."
    )


def byte_size(text: str) -> str:
    """Return the size of a text in bytes, with a decimal unit."""
    return size(len(text.encode("utf-8", "replace")))


def call_lines(call: ToolCall) -> list[str]:
    """Return a tool call in full, with a line for each argument."""
    return [f"Tool call: {call.name}", *(f"  {name}: {text}" for name, text in arguments(call))]


def arguments(call: ToolCall) -> list[tuple[str, str]]:
    """Return the names and values of a tool call's arguments."""
    values = read_json(call.arguments)
    if not isinstance(values, dict):
        return [("arguments", call.arguments)]
    return [
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in values.items()
    ]


def call_parts(call: ToolCall) -> list[str]:
    """Return the name of a tool call, and its arguments in a line if there are any."""
    line = ", ".join(f"{name}: {' '.join(value.split())}" for name, value in arguments(call))
    return [call.name, line] if line else [call.name]


def outcome(record: StoredMessage) -> list[str]:
    """Return how a tool call ended: its end, why or how much it returned, and the seconds."""
    end, content = _CALL_ENDS.get(record.stop or "", ""), record.content
    reason = " ".join(content[:LONGEST_REASON].split())
    about = reason if end or not content else plural(len(content), "character")
    return [*filter(None, (end, about, f"{record.seconds:.1f} s" if record.seconds else ""))]


def access(tool: OfferedTool) -> str:
    """Return a sentence on what a tool may do, as far as that is known."""
    if not tool.server:
        return "No server offers this tool now."
    if tool.server == BUILT_IN:
        return "Built in. It reads the folders you named, nothing else."
    if tool.read_only:
        return f"From the server {tool.server}, which says that it only reads."
    return f"From the server {tool.server}. It may change or send something."
