"""The grammar of answers that may call tools, in llguidance's dialect of Lark."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping

from assistant.calling.arguments import Schema, is_text, properties
from assistant.calling.formats import BARE, BARE_AGAIN, BARE_BETWEEN, BARE_END, QUOTE, CallFormat
from assistant.calling.gemma import GemmaRules
from assistant.request import ToolChoice

ANY_OBJECT: Schema = {"type": "object"}
_ALL = "/(?s:.*)/"
_OPEN = {"anyOf", "oneOf", "allOf", "$ref", "patternProperties", "additionalProperties"}
_ELEMENT_END = "\n</parameter>\n"


def closed(schema: object) -> Schema:
    """Return the schema of a tool's arguments: an object, of the properties that it names."""
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return ANY_OBJECT
    known, required = schema.get("properties"), schema.get("required", [])
    named = isinstance(known, dict) and not _OPEN & schema.keys() and {*required} <= {*known}
    return {**schema, **ANY_OBJECT, **({"additionalProperties": False} if named else {})}


class CallGrammar:
    """Write the grammar of an answer.

    Args:
        form: how the model writes calls.
        controls: the control tokens, by their text.
        style: how JSON is written, for llguidance.
    """

    def __init__(
        self, form: CallFormat, controls: Mapping[str, int], style: Mapping[str, object]
    ) -> None:
        self._form, self._controls, self._style = form, controls, style
        self._lines: list[str] = []

    def answer(
        self,
        schemas: Mapping[str, Schema],
        choice: ToolChoice,
        several: bool,
        thought: tuple[str, str] | None = None,
        gap: bool = False,
        instead: str | None = None,
    ) -> str:
        """Return the grammar.

        Args:
            schemas: of the arguments of each tool, by its name.
            choice: whether calls may begin, or must.
            several: whether there may be more than one.
            thought: what stands around a thought that may come first.
            gap: whether new lines may come before all else, as after a thought.
            instead: the name of a grammar that an answer without calls has to fit.
        """
        self._lines = []
        barred = [f".*{_pattern(self._form.trigger)}.*"]
        if self._form.bare:
            barred.append(f'{BARE}(?:{"|".join(map(_pattern, schemas))})".*')
        begin = '("\\n" | "\\n\\n")? ' if gap else ""
        if thought:
            opens, closes = thought
            barred.append(f"\\s*{_pattern(opens.strip())}.*")
            begin = f"({self._text(opens)} {self._up_to('THOUGHT', closes)})? {begin}"
        free = f"@{instead}" if instead else "FREE"
        if not instead:
            self._lines.append(f"FREE: {_ALL}" + "".join(f" & ~/(?s:{each})/" for each in barred))
        ways = [free] if choice != "required" else []
        if choice != "none":
            after_text = choice == "auto" and not instead
            ways += self._calls(schemas, several and self._form.several, after_text)
        return "\n".join([f"start: {begin}({' | '.join(ways)})", *self._lines, ""])

    def _calls(
        self, schemas: Mapping[str, Schema], several: bool, after_text: bool
    ) -> Iterator[str]:
        """Yield what calls look like, with text before them."""
        form = self._form
        if form.syntax == "gemma":
            self._lines.append(f"UNQUOTED: {_ALL} & ~/(?s:.*{_pattern(QUOTE)}.*)/")
            text = self._up_to("STRING", QUOTE, "UNQUOTED")
            self._lines += [f"string: {self._text(QUOTE)} {text}", *self._gemma().any()]
        self._lines.append("call: " + " | ".join(f"call_{i}" for i in range(len(schemas))))
        for i, (name, schema) in enumerate(schemas.items()):
            head, tail = self._text(name + form.between), self._text(form.closes)
            arguments = self._arguments(i, schema)
            self._lines += [f"call_{i}: {head} args_{i} {tail}", f"args_{i}: {arguments}"]
        begin, rest = "", form.before + form.opens
        if after_text:
            begin = self._up_to("BEGIN", form.trigger, "FREE")
            rest = rest.removeprefix(form.trigger)
        more = f"({self._text(form.joins + form.opens)} call)*" if several else ""
        yield f"{begin} {self._text(rest)} call {more} {self._text(form.after)}"
        if after_text and form.bare:
            first, again = (self._bare(start, schemas) for start in (BARE, BARE_AGAIN))
            yield f"({first}) {f'({again})*' if several else ''} (/\\s*```/)?"

    def _bare(self, start: str, names: Iterable[str]) -> str:
        """Return what calls in bare JSON look like."""
        heads = (f"{start}{_pattern(name)}{BARE_BETWEEN}" for name in names)
        return " | ".join(f"/{head}/ args_{i} /{BARE_END}/" for i, head in enumerate(heads))

    def _arguments(self, i: int, schema: Schema) -> str:
        if self._form.syntax == "gemma":
            return self._gemma().members(schema)
        return self._elements(i, schema) if self._form.syntax == "xml" else self._json(schema)

    def _gemma(self) -> GemmaRules:
        return GemmaRules(self._rule, self._text, self._json)

    def _elements(self, i: int, schema: Schema) -> str:
        """Return the rule of arguments in XML; of what strings look like only `enum` counts."""
        named, required = properties(schema), schema.get("required")
        # A text ends with what does not overlap with itself: one that goes on could not go back.
        any_text = f'{self._up_to(f"TEXT_{i}", _ELEMENT_END.rstrip())} "\\n"'
        if not named and schema.get("additionalProperties") is not False:
            return f'("<parameter=" /[A-Za-z_][A-Za-z0-9_.-]*/ ">\\n" {any_text})*'
        shared: Schema = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        elements = ""
        for name, each in named.items():
            listed = each.get("enum")
            if not is_text(each):
                rule = self._rule(f"value_{i}", self._json({**each, **shared}))
                value = f"{rule} {_quoted(_ELEMENT_END)}"
            elif isinstance(listed, list):
                value = f"({' | '.join(_quoted(f'{text}{_ELEMENT_END}') for text in listed)})"
            else:
                value = any_text
            needed = isinstance(required, list) and name in required
            head = _quoted(f"<parameter={name}>\n")
            elements += f" ({head} {value})" + ("" if needed else "?")
        return elements or '""'

    def _rule(self, name: str, body: str) -> str:
        name = f"{name}_{len(self._lines)}"
        self._lines.append(f"{name}: {body}")
        return name

    def _json(self, schema: Schema) -> str:
        return "%json " + json.dumps({**schema, "x-guidance": self._style})

    def _text(self, text: str) -> str:
        """Return what spells a text, some of which may be control tokens."""
        return " ".join(
            f"<[{self._controls[part]}]>" if part in self._controls else _quoted(part)
            for part in self._parts(text)
        )

    def _up_to(self, name: str, end: str, what: str = "") -> str:
        """Return what spells all up to a text, with that; `name` is for a terminal of its own."""
        first, *rest = self._parts(end)
        if first in self._controls:
            self._lines.append(f"{name}: {what or _ALL}")
            return f"{name} {self._text(end)}"
        if not what:
            what = f"{name}_PART"
            self._lines.append(f"{what}: {_ALL} & ~/(?s:.*{_pattern(first)}.*)/")
        self._lines.append(f"{name}: {what} {_quoted(first)}")
        return f"{name} {self._text(''.join(rest))}"

    def _parts(self, text: str) -> list[str]:
        """Split a text at the control tokens in it."""
        names = sorted((name for name in self._controls if name in text), key=len, reverse=True)
        if not names:
            return [text] if text else []
        return [part for part in re.split(f"({'|'.join(map(re.escape, names))})", text) if part]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _pattern(text: str) -> str:
    """Return the regular expression of a text."""
    return "".join(c if c.isascii() and c.isalnum() else f"\\x{{{ord(c):X}}}" for c in text)
