"""Rules in llguidance's dialect of Lark, and what of schemas they leave out."""

import json
import re
from collections.abc import Callable, Iterable, Mapping

from assistant.calling.arguments import Schema
from assistant.calling.texts import text_rule

ALL = "/(?s:.*)/"


class LarkRules:
    """Collect rules.

    Args:
        controls: the control tokens, by their text.
        style: how JSON is written, for llguidance.
        understood: returns a regular expression of JSON Schema's as rules write it; None where
            they cannot.
    """

    def __init__(
        self,
        controls: Mapping[str, int],
        style: Mapping[str, object],
        understood: Callable[[str], str | None],
    ) -> None:
        self.lines: list[str] = []
        self._controls, self._style, self._understood = controls, style, understood
        self._left: dict[str, set[str]] = {}  # keywords, by the parameters that they are of

    @property
    def left_out(self) -> str:
        """What is not held of the schemas, in words; usually empty."""
        said = (
            f"{', '.join(sorted(keywords))} of its "
            + (f'parameter "{place}"' if place else "parameters together")
            for place, keywords in self._left.items()
            if keywords
        )
        text = "; ".join(said)
        return f"{text} cannot be enforced" if text else ""

    def leave(self, place: str, keywords: Iterable[str]) -> None:
        """Note keywords of a parameter that are not held; it is empty for all parameters."""
        self._left.setdefault(place, set()).update(keywords)

    def add(self, name: str, body: str) -> str:
        """Add a rule of such a name, and return its whole name."""
        name = f"{name}_{len(self.lines)}"
        self.lines.append(f"{name}: {body}")
        return name

    def json(self, schema: Schema) -> str:
        """Return what spells a value of a schema in JSON."""
        return "%json " + json.dumps({**schema, "x-guidance": self._style})

    def text(self, text: str) -> str:
        """Return what spells a text, some of which may be control tokens."""
        return " ".join(
            f"<[{self._controls[part]}]>" if part in self._controls else quoted(part)
            for part in self._parts(text)
        )

    def patterns(self, place: str, schema: Schema) -> tuple[str, ...]:
        """Return what a parameter that is a text has to fit."""
        patterns, beyond = text_rule(schema, self._understood)
        self.leave(place, beyond)
        return patterns

    def up_to(self, name: str, end: str, what: str = "", patterns: Iterable[str] = ()) -> str:
        """Return what spells all up to a text, with that; `name` is for a terminal of its own.

        It is `what`, or any text without that end; and fits the patterns.
        """
        first, *rest = self._parts(end)
        controlled = first in self._controls
        if not what:
            what = ALL if controlled else f"{ALL} & ~/(?s:.*{pattern_of(first)}.*)/"
        part = " & ".join([what, *(f"/{pattern}/" for pattern in patterns)])
        if controlled:
            self.lines.append(f"{name}: {part}")
            return f"{name} {self.text(end)}"
        self.lines += [f"{name}_PART: {part}", f"{name}: {name}_PART {quoted(first)}"]
        return f"{name} {self.text(''.join(rest))}"

    def _parts(self, text: str) -> list[str]:
        """Split a text at the control tokens in it."""
        names = sorted((name for name in self._controls if name in text), key=len, reverse=True)
        if not names:
            return [text] if text else []
        return [part for part in re.split(f"({'|'.join(map(re.escape, names))})", text) if part]


def quoted(text: str) -> str:
    """Return what spells a text that is no control token."""
    return json.dumps(text, ensure_ascii=False)


def pattern_of(text: str) -> str:
    """Return the regular expression of a text."""
    return "".join(c if c.isascii() and c.isalnum() else f"\\x{{{ord(c):X}}}" for c in text)
