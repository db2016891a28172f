"""Rules of a grammar in llguidance's dialect of Lark."""

import json
import re
from collections.abc import Iterable, Mapping

from assistant.calling.arguments import ASSERTING, Schema

ALL = "/(?s:.*)/"
_STYLE = {
    # As Python writes it: models know it well, and no answer gets lost in white space.
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "lenient": True,  # what cannot be enforced is listed
}


def styled(schema: Schema) -> Schema:
    """Return a schema with our options for the layout of JSON among its own for llguidance."""
    own = schema.get("x-guidance")
    return {**schema, "x-guidance": {**own, **_STYLE} if isinstance(own, dict) else _STYLE}


class LarkRules:
    """Collect the rules of one grammar; `controls` are the ids of control tokens by name."""

    def __init__(self, controls: Mapping[str, int]) -> None:
        self.lines: list[str] = []
        self.unenforced: set[str] = set()
        """Keywords of the schemas that these rules do not enforce."""
        self._controls = controls

    def add(self, name: str, body: str) -> str:
        """Add a rule; return its name, which is made unique by a number."""
        name = f"{name}_{len(self.lines)}"
        self.lines.append(f"{name}: {body}")
        return name

    def enforce_only(self, schema: Schema, keywords: Iterable[str]) -> None:
        """Note that a rule enforces these keywords of a schema, and no others."""
        self.unenforced |= ASSERTING & schema.keys() - {*keywords}

    def json(self, schema: Schema) -> str:
        """Return the expression of a JSON value that has a schema."""
        return "%json " + json.dumps(styled(schema))

    def text(self, text: str) -> str:
        """Return the expression of a fixed text, in which control tokens may stand."""
        return " ".join(
            f"<[{self._controls[part]}]>" if part in self._controls else literal(part)
            for part in self._parts(text)
        )

    def up_to(self, name: str, end: str, before: str = "") -> str:
        """Return the expression of a text that ends with `end`, by a terminal called `name`.

        The terminal `before` matches the text before the end; by default any text without the end.
        """
        first, *rest = self._parts(end)
        controlled = first in self._controls
        if not before:
            before = ALL if controlled else f"{ALL} & ~/(?s:.*{pattern_of(first)}.*)/"
        if controlled:
            self.lines.append(f"{name}: {before}")
            return f"{name} {self.text(end)}"
        self.lines += [f"{name}_PART: {before}", f"{name}: {name}_PART {literal(first)}"]
        return f"{name} {self.text(''.join(rest))}"

    def _parts(self, text: str) -> list[str]:
        """Split a text into control tokens and the texts between them."""
        names = sorted((name for name in self._controls if name in text), key=len, reverse=True)
        if not names:
            return [text] if text else []
        return [part for part in re.split(f"({'|'.join(map(re.escape, names))})", text) if part]


def literal(text: str) -> str:
    """Return the literal of a text without control tokens."""
    return json.dumps(text, ensure_ascii=False)


def pattern_of(text: str) -> str:
    """Return a regular expression that matches exactly this text."""
    return "".join(c if c.isascii() and c.isalnum() else f"\\x{{{ord(c):X}}}" for c in text)
