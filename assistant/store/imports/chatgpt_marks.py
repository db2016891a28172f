"""What ChatGPT's page draws in the middle of a text: names, links, citations, between codes."""

import json
import re

_MARK = re.compile("( ?)\ue200([^\ue200\ue201]*)\ue201")
_CODES = re.compile("[\ue200-\ue206]")
_NEXT = "\ue202"


def plain(text: str) -> str:
    """Return a text with names and links as words, and without marks that are none."""
    return _CODES.sub("", _MARK.sub(_word, text))


def _word(mark: re.Match[str]) -> str:
    kind, *about = mark[2].split(_NEXT)
    word = _shown(kind, about)
    return f"{mark[1]}{word}" if word else ""


def _shown(kind: str, about: list[str]) -> str:
    if kind == "entity" and about:  # ["city", "Paris", "of France"]
        return _name(about[0])
    if kind == "url" and about:
        label, *links = about
        return f"[{label}]({links[0]})" if links and links[0].startswith("http") else label
    return ""


def _name(about: str) -> str:
    try:
        found = json.loads(about)
    except (ValueError, RecursionError):
        return about
    fits = isinstance(found, list) and len(found) > 1 and isinstance(found[1], str)
    return found[1] if fits else ""
