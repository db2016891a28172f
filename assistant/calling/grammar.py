"""The grammar of answers that may call tools, in llguidance's dialect of Lark."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from assistant.calling.arguments import Schema, required
from assistant.calling.elements import XmlRules
from assistant.calling.formats import BARE, BARE_AGAIN, BARE_BETWEEN, BARE_END, CallFormat
from assistant.calling.gemma_rules import GemmaRules
from assistant.calling.lark import ALL, LarkRules, pattern_of
from assistant.request import ToolChoice

ANY_OBJECT: Schema = {"type": "object"}
_OPEN = {"anyOf", "oneOf", "allOf", "$ref", "patternProperties", "additionalProperties"}


def closed(schema: object) -> Schema:
    """Return the schema of a tool's arguments: an object, of the properties that it names."""
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return ANY_OBJECT
    known = schema.get("properties")
    named = isinstance(known, dict) and not _OPEN & schema.keys() and required(schema) <= {*known}
    return {**schema, **ANY_OBJECT, **({"additionalProperties": False} if named else {})}


class CallGrammar:
    """Write the grammar of an answer, in which calls are as `form` says."""

    def __init__(self, form: CallFormat, rules: LarkRules) -> None:
        self._form, self._rules = form, rules

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
        rules = self._rules
        barred = [f".*{pattern_of(self._form.trigger)}.*"]
        if self._form.bare:
            barred.append(f'{BARE}(?:{"|".join(map(pattern_of, schemas))})".*')
        begin = '("\\n" | "\\n\\n")? ' if gap else ""
        if thought:
            opens, closes = thought
            barred.append(f"\\s*{pattern_of(opens.strip())}.*")
            begin = f"({rules.text(opens)} {rules.up_to('THOUGHT', closes)})? {begin}"
        free = f"@{instead}" if instead else "FREE"
        if not instead:
            rules.lines.append(f"FREE: {ALL}" + "".join(f" & ~/(?s:{each})/" for each in barred))
        ways = [free] if choice != "required" else []
        if choice != "none":
            after_text = choice == "auto" and not instead
            ways += self._calls(schemas, several and self._form.several, after_text)
        return "\n".join([f"start: {begin}({' | '.join(ways)})", *rules.lines, ""])

    def _calls(
        self, schemas: Mapping[str, Schema], several: bool, after_text: bool
    ) -> Iterator[str]:
        """Yield what calls look like, with text before them."""
        form, rules = self._form, self._rules
        arguments = self._arguments()
        rules.lines.append("call: " + " | ".join(f"call_{i}" for i in range(len(schemas))))
        for i, (name, schema) in enumerate(schemas.items()):
            head, tail = rules.text(name + form.between), rules.text(form.closes)
            said = arguments(schema)
            rules.lines += [f"call_{i}: {head} args_{i} {tail}", f"args_{i}: {said}"]
        begin, rest = "", form.before + form.opens
        if after_text:
            begin = rules.up_to("BEGIN", form.trigger, "FREE")
            rest = rest.removeprefix(form.trigger)
        more = f"({rules.text(form.joins + form.opens)} call)*" if several else ""
        yield f"{begin} {rules.text(rest)} call {more} {rules.text(form.after)}"
        if after_text and form.bare:
            first, again = (self._bare(start, schemas) for start in (BARE, BARE_AGAIN))
            yield f"({first}) {f'({again})*' if several else ''} (/\\s*```/)?"

    def _bare(self, start: str, names: Iterable[str]) -> str:
        """Return what calls in bare JSON look like."""
        heads = (f"{start}{pattern_of(name)}{BARE_BETWEEN}" for name in names)
        return " | ".join(f"/{head}/ args_{i} /{BARE_END}/" for i, head in enumerate(heads))

    def _arguments(self) -> Callable[[Schema], str]:
        """Return what returns the rule of arguments that fit a schema."""
        match self._form.syntax:
            case "xml":
                return XmlRules(self._rules).elements
            case "gemma":
                return GemmaRules(self._rules).arguments
        return self._rules.json
