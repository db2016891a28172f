"""Forms for the answers of one model."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from llguidance import LLMatcher, regex_to_lark

from assistant.calling.arguments import Schema
from assistant.calling.formats import CallFormat
from assistant.calling.grammar import ANY_OBJECT, CallGrammar, closed
from assistant.calling.lark import LarkRules
from assistant.calling.wording import read_json
from assistant.forms.grammar import LIMITS, LONGEST_WHY, STYLE, compiled, matcher_of, named, reason
from assistant.forms.mask import FormMask, Start
from assistant.forms.tokenizer import tokenizer_of
from assistant.request import AnswerForm, Request, Tool
from models.base import Vocab
from models.errors import UsageError

if TYPE_CHECKING:
    from llguidance._lib import JsonCompileOptions

MakeMask = Callable[[list[int], Start], FormMask]
"""Makes the mask of an answer, from its prompt and what finds its start."""
_STYLE: JsonCompileOptions = {**STYLE, "lenient": True}
_FORM = "form"
_MOST_KNOWN = 1000  # schemas that are remembered


class Forms:
    """Understand forms in a vocabulary of `n_vocab` tokens."""

    def __init__(self, vocab: Vocab, n_vocab: int) -> None:
        self._stops, self._controls = vocab.stop_tokens, vocab.controls
        self._tokenizer = tokenizer_of(vocab, n_vocab)
        self._schemas: dict[tuple[Tool, CallFormat], tuple[Schema, str]] = {}
        self._last: tuple[str, LLMatcher] | None = None  # of calls: most requests have the same
        self._masks: list[FormMask] = []  # those of it, which share what was computed

    def mask(self, form: AnswerForm) -> MakeMask:
        """Return what makes the mask of an answer.

        Raises:
            UsageError: the form cannot be used.
        """
        return self._made(matcher_of(form, self._tokenizer))

    def calls(
        self,
        form: CallFormat,
        request: Request,
        thought: tuple[str, str] | None = None,
        thinks: bool = False,
    ) -> tuple[MakeMask, list[str]]:
        """Return what makes the mask of an answer that may call tools, and remarks on these.

        What cannot be enforced of a schema is left out, with a remark. `thought` is what stands
        around a thought that may come first, of a model that `thinks`.

        Raises:
            UsageError: the form of answers without calls cannot be used, or all is too large, or
                the schema of a strict tool cannot be enforced.
        """
        checked = {tool.name: self._schema(tool, form) for tool in request.tools}
        schemas = {name: schema for name, (schema, _) in checked.items()}
        parts = [named(request.form, _FORM)] if request.form else []
        grammar = CallGrammar(form, self._rules()).answer(
            schemas,
            request.tool_choice,
            request.parallel_calls,
            thought,
            thinks and request.tool_choice == "required",
            _FORM if parts else None,
        )
        if parts:
            answer = {"name": "answer", "lark_grammar": grammar}
            grammar = json.dumps({"grammars": [answer, *parts]})
        spoilt = any(mask.failed for mask in self._masks)
        self._masks = []
        if self._last is None or self._last[0] != grammar or spoilt:
            matcher, why = compiled(grammar, self._tokenizer)
            if why:
                raise UsageError(f"The tools cannot be used: {reason(why)}.")
            self._last = grammar, matcher
        return self._made(self._last[1]), [remark for _, remark in checked.values() if remark]

    def _made(self, matcher: LLMatcher) -> MakeMask:
        def made(tokens: list[int], start: Start) -> FormMask:
            own = matcher.deep_copy()
            self._masks.append(mask := FormMask(own, self._tokenizer, self._stops, tokens, start))
            return mask

        return made

    def _schema(self, tool: Tool, form: CallFormat) -> tuple[Schema, str]:
        """Return what can be enforced of the arguments of a tool, and a remark on the rest."""
        known = (tool, form)
        if known not in self._schemas:
            if len(self._schemas) >= _MOST_KNOWN:
                self._schemas.clear()
            schema = closed(read_json(tool.parameters))
            wrong, why = self._doubts(schema, form)
            what = "any arguments" if wrong else "more than its schema allows"
            remark = f"The tool {tool.name} may be called with {what}: {why}." if why else ""
            if remark and tool.strict:
                raise UsageError(f"The tool {tool.name} cannot be strict: {why}.")
            self._schemas[known] = ANY_OBJECT if wrong else schema, remark
        return self._schemas[known]

    def _doubts(self, schema: Schema, form: CallFormat) -> tuple[bool, str]:
        """Return whether nothing of a schema can be enforced, and why not all of it can."""
        grammar = LLMatcher.grammar_from_json_schema(schema, overrides=_STYLE)
        wrong, said = LLMatcher.validate_grammar_with_warnings(grammar, limits=LIMITS)
        if said or form.syntax == "json":
            return wrong, reason(said[0]) if said else ""
        rules = self._rules()
        alone = CallGrammar(form, rules).answer({"f": schema}, "required", several=False)
        _, why = compiled(alone, self._tokenizer)
        return bool(why), reason(why) if why else rules.left_out[:LONGEST_WHY]

    def _rules(self) -> LarkRules:
        return LarkRules(self._controls, _STYLE, _understood)


@lru_cache(_MOST_KNOWN)
def _understood(pattern: str) -> str | None:
    """Return a regular expression of JSON Schema's as grammars write it; None: they cannot."""
    written = regex_to_lark(pattern, "dw")  # in which \d and \w are ASCII
    grammar = LLMatcher.grammar_from_lark(f"start: TEXT\nTEXT: /{written}/")
    wrong, _ = LLMatcher.validate_grammar_with_warnings(grammar, limits=LIMITS)
    return None if wrong else written
