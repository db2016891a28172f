"""A model's vocabulary, described to llguidance."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal

from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper
from llguidance.gbnf_to_lark import any_to_lark

from assistant.calling.lark import styled
from assistant.request import Constraint, ConstraintKind
from models.errors import UsageError
from models.native.vocab import Vocab

MARK = "\2"
"""A character put before a text, because some tokenizers add a space at its beginning."""
SAMPLE = '{"name": "Zoë", "ages": [4, 12]}'


def tokenizer_of(vocab: Vocab, n_vocab: int) -> LLTokenizer:
    """Return llguidance's tokenizer of a vocabulary of `n_vocab` tokens; it takes about a second.

    Control tokens and stop tokens have no text, so no constraint can ask for them by it. A
    `UsageError` says that the vocabulary changes a text that is tokenised, or has no stop token.
    """
    spellings = _Spellings(vocab, n_vocab)
    if b"".join(spellings.tokens[token] for token in spellings(SAMPLE)) != SAMPLE.encode():
        raise UsageError("This model's vocabulary changes text, so it cannot follow forms.")
    return LLTokenizer(
        TokenizerWrapper(spellings), n_vocab=n_vocab, eos_token=sorted(vocab.stop_tokens)
    )


class _Spellings:
    """The attributes that `TokenizerWrapper` reads, by the names it expects."""

    bos_token_id = None

    def __init__(self, vocab: Vocab, n_vocab: int) -> None:
        stops = vocab.stop_tokens
        if not stops:
            raise UsageError("This model has no stop token, so it cannot follow forms.")
        self.eos_token_id = min(stops)
        self.tokens = [b"" if i in stops else vocab.piece(i) for i in range(n_vocab)]
        self._vocab = vocab

    def __call__(self, text: str) -> list[int]:
        """Return the tokens of a text without the space that some tokenizers put before it."""
        tokens = self._vocab.tokenize(text)
        if b"".join(self.tokens[token] for token in tokens) == text.encode():
            return tokens
        return self._vocab.tokenize(MARK + text)[len(self._vocab.tokenize(MARK)) :]


LIMITS = LLParserLimits(verbose_errors=False)  # an error is for people, and without the state
TOO_LARGE = "it is too large"
NAMES = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
"""Keywords of objects whose keys are names."""
VALUES = ("const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
NOTES = ("default", "example", "examples")
LARGEST = 2**63 - 1  # as a bound, many schemas have it, and it is one after rounding, too
LONGEST_REASON = 200  # characters of an explanation
LARGEST_FACTOR = 10_000  # llguidance has a state for each remainder: a million take minutes
MOST_RULES = 500  # of GBNF, whose converter takes a time that grows with their square
_FACTOR = re.compile(r'"multipleOf"\s*:\s*([-+.\deE]+)')


def matcher_of(constraint: Constraint, tokenizer: LLTokenizer) -> LLMatcher:
    """Return a matcher of a constraint; UsageError if it is wrong, too large or allows nothing."""
    matcher, error = compile_grammar(_read(constraint), tokenizer)
    if error:
        raise _usage_error(constraint, error)
    return matcher


def fields_of(constraint: Constraint) -> tuple[str, ...]:
    """Return the names of the fields that a schema describes; other constraints are only checked.

    A `UsageError` says that it cannot be used.
    """
    is_useless, errors = LLMatcher.validate_grammar_with_warnings(_read(constraint), limits=LIMITS)
    if is_useless:
        raise _usage_error(constraint, errors[0])
    schema = json.loads(constraint.text) if constraint.kind == "schema" else {}
    fields = schema.get("properties", {})
    return tuple(fields) if isinstance(fields, dict) else ()


def compile_grammar(grammar: str, tokenizer: LLTokenizer) -> tuple[LLMatcher, str]:
    """Return a matcher of a grammar, and the error that makes it useless; "" if there is none."""
    matcher = LLMatcher(tokenizer, grammar, log_level=0, limits=LIMITS)
    if not matcher.get_error():
        matcher.compute_bitmask()  # which finds out whether there is any way to begin
        if matcher.get_error():
            return matcher, "nothing matches it"
    return matcher, matcher.get_error()


def named_grammar(constraint: Constraint, name: str) -> dict[str, object]:
    """Return a constraint as a named part of a larger grammar, in llguidance's structure.

    A `UsageError` says that the constraint cannot be understood.
    """
    if constraint.kind == "grammar":
        return {"name": name, "lark_grammar": _read(constraint)}
    (grammar,) = json.loads(_read(constraint))["grammars"]
    return {**grammar, "name": name}


def check_factors(text: str) -> None:
    """Raise ValueError for a schema or grammar whose multiples would take minutes to compile."""
    for factor in _FACTOR.findall(text):
        digits = Decimal(factor).normalize().as_tuple().digits
        if int("".join(map(str, digits[:9]))) > LARGEST_FACTOR:
            raise ValueError(f"its multipleOf {factor[:30]} has too many digits")


def _read(constraint: Constraint) -> str:
    try:
        check_factors(constraint.text)
        return _READERS[constraint.kind](constraint.text)
    # The converter of grammars raises plain exceptions, and what it recurses into is a stranger's.
    except Exception as error:
        raise _usage_error(constraint, str(error) or type(error).__name__) from error


def _grammar(text: str) -> str:
    if text.count("::=") > MOST_RULES:
        raise ValueError(f"it has more than {MOST_RULES} rules")
    return LLMatcher.grammar_from_lark(any_to_lark(text))


def _schema(text: str) -> str:
    try:
        schema = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON (line {error.lineno}: {error.msg})") from error
    if not isinstance(schema, dict):
        raise ValueError("it is not a JSON object")
    if rounded := next(_inexact_numbers(schema), None):
        raise ValueError(f"it has a whole number that would be rounded: {rounded}")
    grammar, _, reason = grammar_of(schema)
    if reason:
        raise ValueError(reason)
    return grammar


def grammar_of(schema: dict[str, object]) -> tuple[str, bool, str]:
    """Return a schema's grammar, whether it is useless, and why it allows more than the schema.

    A format that is not known is no reason: for JSON Schema it is a note on the value. A
    `ValueError` says that there can be no grammar.
    """
    grammar = LLMatcher.grammar_from_json_schema(styled(schema))
    is_useless, warnings = LLMatcher.validate_grammar_with_warnings(grammar, limits=LIMITS)
    reason = next((text for text in warnings if not text.startswith("Unknown format")), "")
    return grammar, is_useless, readable_reason(reason) if reason else ""


def _inexact_numbers(part: object, is_value: bool = False) -> Iterator[int]:
    """Yield the whole numbers of a schema that llguidance, which has only doubles, would round."""
    if isinstance(part, list):
        for member in part:
            yield from _inexact_numbers(member, is_value)
    elif isinstance(part, dict):
        for key, inner in part.items():
            if key in NAMES and isinstance(inner, dict) and not is_value:
                yield from _inexact_numbers([*inner.values()])
            elif is_value or key not in NOTES:
                yield from _inexact_numbers(inner, is_value or key in VALUES)
    elif is_value and isinstance(part, int) and part != LARGEST and abs(part) < 2**64:
        is_exact = int(float(part)) == part
        if not is_exact:
            yield part


def _usage_error(constraint: Constraint, error: str) -> UsageError:
    return UsageError(f"The {constraint.kind} cannot be used: {readable_reason(error)}.")


def readable_reason(error: str) -> str:
    """Return the first meaningful line of an error of llguidance's, shortened."""
    if "(grammar) too big" in error:
        return TOO_LARGE
    if known := next((text for start, text in _KNOWN if error.startswith(start)), None):
        error = f"{known}{error.partition(':')[2]}" if known.endswith(":") else known
    lines = [line.strip() for line in error.splitlines() if line.strip(" ^|")]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (errors or lines or ["it cannot be understood"])[0].rstrip(".")[:LONGEST_REASON]


_KNOWN = (
    ("Unimplemented keys:", "it has keys that cannot be enforced:"),
    ("oneOf ", "more than one of its oneOf may match; write anyOf"),
    ("Value is not JSON serializable", "it has a number of more than 64 bits"),
    ("Resource ", "it refers to another file; copy that into it"),
    ("panic: assertion failed: grammar.symbols", TOO_LARGE),
)
"""The beginnings of llguidance's errors, with texts that users understand."""
_READERS: dict[ConstraintKind, Callable[[str], str]] = {
    "schema": _schema,
    "regex": LLMatcher.grammar_from_regex,
    "grammar": _grammar,
}
