"""Two tools, the texts of their calls in each format, and the masks of answers with calls."""

import json

from assistant.calling.arguments import closed
from assistant.calling.formats import FORMATS
from assistant.request import Message, Request, Tool
from tests.assistant.constraints.word_vocabulary import WordVocabulary

CITY = {"type": "string"}
WEATHER = Tool(
    "get_weather",
    "The weather of a city.",
    json.dumps(
        {
            "type": "object",
            "properties": {"city": CITY, "unit": {"enum": ["celsius", "kelvin"]}},
            "required": ["city", "unit"],
        }
    ),
)
TIME = Tool(
    "get_time",
    "The time in a city.",
    json.dumps(
        {"type": "object", "properties": {"city": CITY, "n": {"type": "integer"}}, "required": []}
    ),
)
TOOLS = (WEATHER, TIME)
SCHEMAS = {tool.name: closed(json.loads(tool.parameters)) for tool in TOOLS}
HERMES, XML, NAMED, LISTED, SPACED, LLAMA, GEMMA = FORMATS
PARIS = '{"city": "Paris", "unit": "kelvin"}'
ODD = '{"city": "}</tool_call>\\"{\\\\"}'


def wrote(form, *calls):
    """Return the text of an answer that is these calls, of a name and arguments each."""
    texts = (f"{form.opens}{name}{form.between}{values}{form.closes}" for name, values in calls)
    return form.before + form.joins.join(texts) + form.after


def asking(*tools, choice="required", **more):
    return Request((Message("user", "?"),), tools=tools, tool_choice=choice, **more)


def calls(words, form, request, tokens=(), **thought):
    """Return the mask of an answer that is these tokens, and the remarks."""
    return words.forms.call_mask(form, request, [*tokens], lambda context: 0, **thought)


def fits(words, form, request, text, **thought):
    """Say whether a text may begin an answer, and whether it may be one."""
    tokens, answer = words.tokens(text), list[int]()
    mask, _ = words.forms.call_mask(form, request, answer, lambda context: 0, **thought)
    begins = mask.count_allowed([], tokens) == len(tokens)
    answer += tokens
    return begins, begins and mask.is_complete


CONTROLS = ("<|tool_call>", "<tool_call|>", '<|"|>')

KINDS = [WordVocabulary('{"a": 1}', "}<", ",b", ':<|"', controls=names) for names in ((), CONTROLS)]
