"""Answers under a constraint, of tiny models whose tokens are random."""

import json

import pytest

from assistant.events import Stop
from assistant.request import Constraint, Message, Request, Sampling
from models.errors import UsageError
from tests.assistant.engine.answering import answer, end, tokens

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 99},
        "tags": {"type": "array", "items": {"enum": ["red", "green"]}, "maxItems": 2},
    },
    "required": ["name", "age", "tags"],
    "additionalProperties": False,
}
SCHEMA = Constraint("schema", json.dumps(PERSON))


@pytest.fixture
def assistant(tiny_target, tiny_draft, opened):
    return opened(tiny_target, tiny_draft)


def ask(assistant, form, mode="sps", lookahead=3, **options):
    options = {"sampling": Sampling(1.0, 0, 1.0), "max_tokens": 200, **options}
    messages = options.pop("messages", (Message("user", "?"),))
    request = Request(messages, mode=mode, lookahead=lookahead, constraint=form, **options)
    return answer(assistant, request)


def is_person(text):
    found = json.loads(text)
    assert list(found) == ["name", "age", "tags"]
    assert len(found["name"]) <= 8
    assert 0 <= found["age"] <= 99
    assert set(found["tags"]) <= {"red", "green"}
    return True


@pytest.mark.some(7)
@pytest.mark.parametrize("mode", ["ars", "sps"])
@pytest.mark.parametrize("rule", ["token", "block"])
@pytest.mark.parametrize(
    "sampling",
    [Sampling(0), Sampling(1.0, 0, 1.0), Sampling(1.5, 5, 0.9, 0.05, 1.3), Sampling(0.7, 40, 0.95)],
    ids=["greedy", "plain", "everything", "usual"],
)
def test_an_answer_meets_its_constraint_whatever_the_model(assistant, mode, rule, sampling):
    for _ in range(3):
        finished = end(ask(assistant, SCHEMA, mode, sampling=sampling, rule=rule))
        assert (finished.stop, finished.complete) == (Stop.STOP_TOKEN, True)
        assert is_person(finished.text)


def test_the_tokens_that_a_constraint_fixes_are_proposed_and_never_rejected(assistant):
    form = Constraint("regex", "The answer is (yes|no), and that is all there is to say\\.")
    events = ask(assistant, form, lookahead=8)
    tally = end(events).stats.sources["form"]
    assert tally.tested == tally.accepted > 30
    assert sum(token.source == "form" for token in tokens(events)) >= tally.accepted
    assert end(events).stats.tokens_per_eval > 4
    assert end(events).stats.masked_rows >= len(tokens(events))


def test_an_answer_stops_where_its_constraint_is_complete_without_another_evaluation(assistant):
    finished = end(ask(assistant, Constraint("regex", "abc"), "ars", None))
    assert (finished.text, finished.stop, finished.stats.rounds) == ("abc", Stop.STOP_TOKEN, 3)


def test_an_answer_that_is_cut_within_its_constraint_is_incomplete(assistant):
    cut = end(ask(assistant, SCHEMA, max_tokens=5))
    assert (cut.stop, cut.complete) == (Stop.LENGTH, False)
    stopped = end(ask(assistant, SCHEMA, stop_strings=('"age"',)))
    assert (stopped.stop, stopped.complete) == (Stop.STOP_STRING, False)
    exactly = end(ask(assistant, Constraint("regex", "abcde"), max_tokens=5))
    assert (exactly.text, exactly.complete) == ("abcde", True)


def test_a_continued_answer_completes_the_constraint(assistant):
    begun = Message("assistant", '{"name": "Bo')
    finished = end(ask(assistant, SCHEMA, messages=(Message("user", "?"), begun)))
    assert is_person(begun.content + finished.text)


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("schema", "{", "The schema cannot be used: "),
        ("schema", "[]", "it is not a JSON object"),
        ("schema", '{"type": "frog"}', "frog"),
        ("schema", '{"type": "integer", "minimum": 5, "maximum": 3}', "minimum"),
        ("schema", '{"format": "a", "uniqueItems": true}', 'cannot be enforced: ["uniqueItems"]'),
        ("schema", '{"$ref": "#"}', "nothing matches it"),
        ("schema", '{"$ref": "https://example.org/a.json"}', "another file"),
        ("schema", '{"items":' * 5000 + "{}" + "}" * 5000, "cannot be used: "),
        ("schema", json.dumps({"enum": [*map(str, range(90_000))]}), "it is too large"),
        ("schema", '{"const": 1234567890123456789}', "rounded: 1234567890123456789"),
        ("schema", '{"properties": {"a": {"enum": [{"b": -9007199254740993}]}}}', "-90"),
        ("schema", '{"items": {"minimum": 9007199254740993}}', "rounded: 9007199254740993"),
        ("schema", '{"multipleOf": 999983}', "multipleOf 999983 has too many digits"),
        ("grammar", 'start: %json {"multipleOf":123.456}', "multipleOf 123.456 has"),
        ("grammar", 'root ::= "a"\n' * 501, "it has more than 500 rules"),
        ("regex", "(ab", "unclosed group"),
        ("regex", "[^\\s\\S]", "nothing matches it"),
        ("regex", "(?=a)b", "look-around"),
        ("grammar", "root ::= other", "other"),
        ("grammar", "root ::= " + "(" * 5000, "cannot be used: "),
    ],
)
def test_an_unusable_constraint_is_refused_in_a_sentence(assistant, kind, text, why):
    with pytest.raises(UsageError) as refused:
        ask(assistant, Constraint(kind, text))
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)
    assert end(ask(assistant, SCHEMA)).complete  # and the next is none the worse


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "integer", "maximum": 2**63 - 1, "minimum": 0, "default": 2**53 + 1},
        {"type": "object", "properties": {"const": {"default": 2**53 + 1}, "enum": {}}},
        {"type": "number", "multipleOf": 0.01},
        {"type": "integer", "multipleOf": 10**7},
        {"type": "object", "properties": {"a": {"type": ["string", "null"], "format": "path"}}},
    ],
)
def test_exact_integers_and_unknown_formats_are_accepted(assistant, schema):
    ask(assistant, Constraint("schema", json.dumps(schema)), max_tokens=1)


def test_a_constraint_that_can_never_be_complete_is_refused(assistant):
    nested = '{"properties": {"a": {"$ref": "#"}}, "required": ["a"], "type": "object"}'
    with pytest.raises(UsageError, match="The form is too complex to continue: "):
        ask(assistant, Constraint("schema", nested))


def test_a_constraint_of_more_than_a_million_characters_is_refused():
    with pytest.raises(UsageError, match=r"1,000,001 characters; the limit is 1,000,000"):
        Constraint("regex", "a" * 1_000_001)
