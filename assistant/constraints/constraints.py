"""Masks for answers under a constraint, and for answers that may call tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

from llguidance import LLMatcher

from assistant.calling.arguments import ANY_OBJECT, Schema, closed
from assistant.calling.formats import CallFormat, largest_tool, read_json
from assistant.calling.grammar import CallGrammar
from assistant.calling.lark import LarkRules
from assistant.constraints.grammar import (
    check_factors,
    compile_grammar,
    grammar_of,
    matcher_of,
    named_grammar,
    readable_reason,
    tokenizer_of,
)
from assistant.constraints.mask import ConstraintMask, Start
from assistant.request import Constraint, Request, Tool
from models.errors import UsageError
from models.native.vocab import Vocab

_CONSTRAINT = "constraint"
_MAX_REMEMBERED = 1000  # tools whose schemas are remembered


class Constraints:
    """Compile the constraints of answers for a vocabulary of `n_vocab` tokens."""

    def __init__(self, vocab: Vocab, n_vocab: int) -> None:
        self._stops, self._controls = vocab.stop_tokens, vocab.controls
        self._tokenizer = tokenizer_of(vocab, n_vocab)
        self._schema = lru_cache(_MAX_REMEMBERED)(self._enforced_schema)
        # Most requests offer the same tools, so the last grammar of calls is cached with its mask.
        self._last: tuple[str, LLMatcher, ConstraintMask] | None = None

    def mask(self, constraint: Constraint, tokens: list[int], start: Start) -> ConstraintMask:
        """Compile a constraint, and return the mask of an answer.

        `tokens` and `start` are those of `ConstraintMask`. A `UsageError` says that the constraint
        cannot be used, or forbids the beginning of the answer.
        """
        matcher = matcher_of(constraint, self._tokenizer)
        return ConstraintMask(matcher, self._tokenizer, self._stops, tokens, start)

    def call_mask(
        self,
        call_format: CallFormat,
        request: Request,
        tokens: list[int],
        start: Start,
        thought_markers: tuple[str, str] | None = None,
        thinks: bool = False,
    ) -> tuple[ConstraintMask, list[str]]:
        """Compile the calls that a request allows; return the mask of its answer, and warnings.

        `tokens` and `start` are those of `ConstraintMask`. A schema that cannot be enforced is
        relaxed, with a warning. `thought_markers` enclose a thought that may come first, if the
        model `thinks`. A `UsageError` says that the constraint of answers without calls cannot be
        used, that the grammar is too large, or that a strict tool's schema cannot be enforced.
        """
        checked = {tool.name: self._schema(tool, call_format) for tool in request.tools}
        schemas = {name: schema for name, (schema, _) in checked.items()}
        parts = [named_grammar(request.constraint, _CONSTRAINT)] if request.constraint else []
        rules, choice = LarkRules(self._controls), request.tool_choice
        plain_grammar = _CONSTRAINT if parts else None
        several, newlines_first = request.parallel_calls, thinks and choice == "required"
        grammar = CallGrammar(call_format, rules).answer(
            schemas, choice, several, thought_markers, newlines_first, plain_grammar
        )
        answer = {"name": "answer", "lark_grammar": grammar}
        grammar = json.dumps({"grammars": [answer, *parts]})
        matcher = self._matcher(grammar, request.tools)
        must_fit, copied = choice == "required" or bool(parts), matcher.deep_copy()
        mask = ConstraintMask(copied, self._tokenizer, self._stops, tokens, start, must_fit)
        self._last = grammar, matcher, mask
        return mask, [warning for _, warning in checked.values() if warning]

    def _matcher(self, grammar: str, tools: Sequence[Tool]) -> LLMatcher:
        """Return a matcher of a grammar: the last one, unless the lexer it shares has failed."""
        if self._last and self._last[0] == grammar and not self._last[2].failed:
            return self._last[1]
        matcher, error = compile_grammar(grammar, self._tokenizer)
        if error:
            raise UsageError(
                f"The grammar of these tools cannot be used: {readable_reason(error)}. Offer "
                f"fewer tools, or simplify the largest: {largest_tool(tools)}."
            )
        return matcher

    def _enforced_schema(self, tool: Tool, call_format: CallFormat) -> tuple[Schema, str]:
        """Return the schema that is enforced for a tool, and a warning if it is not the tool's own.

        There is no warning for keywords that a syntax leaves to the tool's own validation.
        """
        schema, rules = closed(read_json(tool.parameters)), LarkRules(self._controls)
        is_useless, reason = True, "it is not the schema of an object"
        if schema is not ANY_OBJECT:
            is_useless, reason = self._limits(schema, call_format, rules)
        unenforced = f"{', '.join(sorted(rules.unenforced))} cannot be enforced"
        if tool.strict and (reason or rules.unenforced):
            raise UsageError(f"The tool {tool.name} cannot be strict: {reason or unenforced}.")
        what = "any arguments" if is_useless else "more than its schema allows"
        warning = f"The tool {tool.name} may be called with {what}: {reason}." if reason else ""
        return ANY_OBJECT if is_useless else schema, warning

    def _limits(
        self, schema: Schema, call_format: CallFormat, rules: LarkRules
    ) -> tuple[bool, str]:
        """Return whether a schema cannot be enforced at all, and why it cannot completely."""
        try:
            check_factors(json.dumps(schema))
            _, is_useless, reason = grammar_of(schema)
        except ValueError as error:
            return True, readable_reason(str(error))
        if reason or call_format.syntax == "json":
            return is_useless, reason
        alone = CallGrammar(call_format, rules).answer({"f": schema}, "required", several=False)
        _, reason = compile_grammar(alone, self._tokenizer)
        return bool(reason), readable_reason(reason) if reason else ""
