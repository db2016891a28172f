"""Mutants of tools and their calls."""

from functools import partial

from assistant.calling import arguments
from assistant.calling.arguments import JsonArguments
from assistant.calling.elements import XmlRules
from assistant.calling.grammar import CallGrammar
from assistant.chat.masking import Masking
from tests.assistant.calling import called
from tests.assistant.calling import test_call_grammar as grammar
from tests.assistant.calling import test_call_reader as reading
from tests.assistant.calling import test_schemas as schemas
from tests.assistant.chat import test_tool_prompts as prompts
from tests.exact import test_exact_calls as exact
from tests.mutants.mutant import Mutant

FREE = exact.test_the_text_is_free_until_the_token_that_begins_a_call


def free_or_not():
    grammar.test_text_is_free_until_a_call_begins_unless_there_must_or_must_not_be_one(
        grammar.all_forms(), called.HERMES
    )


READ = partial(
    reading.test_however_tokens_cut_an_answer_its_text_and_its_calls_are_the_same,
    *reading.ANSWERS[0],
    4,
)
LISTED = partial(
    schemas.test_a_text_is_one_of_those_that_its_schema_lists_and_else_any,
    *schemas.SYNTAXES[0],
    {"enum": ["x"]},
    ["x"],
    ["xx"],
)
MASKED = partial(
    prompts.test_nothing_of_tools_their_calls_or_results_becomes_a_control_token,
    source=prompts.template(),
)

MUTANTS = (
    Mutant(
        "leave text free after the beginning of a call",
        CallGrammar.answer,
        'barred = [f".*{pattern_of(self._form.trigger)}.*"]',
        'barred = [f"{pattern_of(self._form.trigger)}.*"]',
        FREE,
    ),
    Mutant(
        "let calls begin where there is to be none",
        CallGrammar.answer,
        'if choice != "none":',
        "if True:",
        free_or_not,
    ),
    Mutant(
        "take a tool's properties for all that it may be given, whatever else its schema says",
        arguments.is_closed,
        "_OPEN & schema.keys() or ",
        "",
        partial(
            grammar.test_a_tool_is_given_what_its_schema_names_unless_that_says_more, {"anyOf": []}
        ),
    ),
    Mutant(
        "let a text be any though its schema lists some",
        XmlRules._text,
        'if texts else "any_text"',
        'if False else "any_text"',
        LISTED,
    ),
    Mutant(
        "end arguments at a brace within a text",
        JsonArguments.read,
        "elif self._quoted:",
        "elif False:",
        READ,
    ),
    Mutant(
        "tokenise a schema as it stands",
        Masking.tool,
        "self._json(tool.parameters)",
        "tool.parameters",
        MASKED,
    ),
    Mutant(
        "tokenise the arguments of calls as they stand",
        Masking.message,
        "self._json(call.arguments)",
        "call.arguments",
        MASKED,
    ),
)
