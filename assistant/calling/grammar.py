"""The grammar of answers that may call tools, in llguidance's dialect of Lark."""

from collections.abc import Iterable, Iterator, Mapping

from assistant.calling.arguments import Schema
from assistant.calling.formats import BARE, BARE_AGAIN, BARE_BETWEEN, BARE_END, CallFormat
from assistant.calling.lark import ALL, LarkRules, pattern_of
from assistant.calling.syntaxes import GemmaRules, XmlRules
from assistant.request import ToolChoice


class CallGrammar:
    """Write the grammar of an answer that calls tools in a given format."""

    def __init__(self, call_format: CallFormat, rules: LarkRules) -> None:
        self._format, self._rules = call_format, rules

    def answer(
        self,
        schemas: Mapping[str, Schema],  # of the tools' arguments, by the tools' names
        choice: ToolChoice,
        several: bool,  # whether more than one call may come
        thought_markers: tuple[str, str] | None = None,  # those around a thought that may be first
        newlines_first: bool = False,  # whether one or two may be first, as after a thought
        plain_grammar: str | None = None,  # the name of that of answers without calls; None: any
    ) -> str:
        """Return the grammar."""
        rules = self._rules
        barred = [f".*{pattern_of(self._format.trigger)}.*"]
        if self._format.bare:
            barred.append(f'{BARE}(?:{"|".join(map(pattern_of, schemas))})".*')
        start = '("\\n" | "\\n\\n")? ' if newlines_first else ""
        if thought_markers:
            opens, closes = thought_markers
            barred.append(f"\\s*{pattern_of(opens.strip())}.*")
            start = f"({rules.text(opens)} {rules.up_to('THOUGHT', closes)})? {start}"
        plain = f"@{plain_grammar}" if plain_grammar else "FREE"
        if not plain_grammar:
            exclusions = "".join(f" & ~/(?s:{pattern})/" for pattern in barred)
            rules.lines.append(f"FREE: {ALL}{exclusions}")
        answers = [plain] if choice != "required" else []
        if choice != "none":
            after_text = choice == "auto" and not plain_grammar
            answers += self._calls(schemas, several and self._format.several, after_text)
        return "\n".join([f"start: {start}({' | '.join(answers)})", *rules.lines, ""])

    def _calls(
        self, schemas: Mapping[str, Schema], several: bool, after_text: bool
    ) -> Iterator[str]:
        """Yield the alternatives of an answer with calls, after free text if there may be some."""
        call_format, rules = self._format, self._rules
        arguments = rules.json
        if call_format.syntax == "xml":
            arguments = XmlRules(rules).arguments
        elif call_format.syntax == "gemma":
            arguments = GemmaRules(rules).arguments
        rules.lines.append("call: " + " | ".join(f"call_{i}" for i in range(len(schemas))))
        for i, (name, schema) in enumerate(schemas.items()):
            head, tail = rules.text(name + call_format.between), rules.text(call_format.closes)
            rules.lines += [f"call_{i}: {head} args_{i} {tail}", f"args_{i}: {arguments(schema)}"]
        text, opening = "", call_format.before + call_format.opens
        if after_text:  # which ends in the trigger
            text = rules.up_to("BEGIN", call_format.trigger, "FREE")
            opening = opening.removeprefix(call_format.trigger)
        more = f"({rules.text(call_format.joins + call_format.opens)} call)*" if several else ""
        yield f"{text} {rules.text(opening)} call {more} {rules.text(call_format.after)}"
        if after_text and call_format.bare:
            first, later = (self._bare(start, schemas) for start in (BARE, BARE_AGAIN))
            yield f"({first}) {f'({later})*' if several else ''} (/\\s*```/)?"

    def _bare(self, start: str, names: Iterable[str]) -> str:
        """Return the alternatives of a call in bare JSON, one for each tool."""
        heads = (f"{start}{pattern_of(name)}{BARE_BETWEEN}" for name in names)
        return " | ".join(f"/{head}/ args_{i} /{BARE_END}/" for i, head in enumerate(heads))
