"""The body of a chat completion: parsed, checked field by field, and made a `Request`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec

from assistant.request import Constraint, Mode, Request
from assistant.serve import conversation_schema as chat
from assistant.serve import dialect
from assistant.serve.api_error import ApiError, refuse, shorten
from assistant.serve.dialect import Fields, Notices
from assistant.streamed_text import without_lone_surrogates
from models.errors import UsageError

_Text = Annotated[str, msgspec.Meta(min_length=1)]
_Stops = Annotated[tuple[_Text, ...], msgspec.Meta(max_length=16)]
_Seed = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_Count = Annotated[int, msgspec.Meta(ge=1, lt=2**31)]
MOST_MESSAGES = 5_000  # more than most contexts hold; it takes a second to count their tokens
_Messages = Annotated[
    list[chat.IncomingMessage], msgspec.Meta(min_length=1, max_length=MOST_MESSAGES)
]

_Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]

# Fields that would change the answer as it cannot be changed here, except for these values.
_UNSUPPORTED: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(("n", "best_of"), (1,)),
    **dict.fromkeys(("presence_penalty", "frequency_penalty"), (0,)),
    **dict.fromkeys(("audio", "web_search_options", "guided_regex"), ()),
    "logit_bias": ({}, []),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "modalities": (["text"],),
}
_INSTEAD = {"functions": "use tools", "function_call": "use tool_choice"}


class _Speculation(msgspec.Struct):
    """How to decode: fields that OpenAI does not define."""

    mode: Mode | None = None
    lookahead: Annotated[int, msgspec.Meta(ge=0, le=31)] | None = None
    thinking_budget: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] | None = None


class _TemplateVariables(msgspec.Struct):
    """The variables of chat templates that have an effect here, named as in other servers."""

    enable_thinking: Any = None
    thinking: Any = None


class _Prediction(msgspec.Struct, tag_field="type", tag="content"):
    content: chat.Content


class _NamedSchema(msgspec.Struct):
    schema: dict[str, Any]
    name: str | None = None
    description: str | None = None
    strict: bool | None = None  # every schema is enforced


class _ResponseFormat(msgspec.Struct):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: _NamedSchema | None = None
    schema: dict[str, Any] | None = None  # as llama.cpp's server takes it


class _CompletionBody(msgspec.Struct):
    messages: _Messages
    model: str | None = None
    stream: bool | None = None
    stream_options: Fields | None = None
    max_tokens: _Count | None = None
    max_completion_tokens: _Count | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: Annotated[int, msgspec.Meta(lt=2**31)] | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    seed: _Seed | None = None
    stop: _Text | _Stops | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, msgspec.Meta(ge=0, le=20)] | None = None
    reasoning_effort: _Effort | None = None
    chat_template_kwargs: _TemplateVariables | None = None
    specchat: _Speculation | None = None
    tools: chat.Tools | None = None
    tool_choice: chat.Choice | None = None
    parallel_tool_calls: bool | None = None
    prediction: _Prediction | None = None
    response_format: _ResponseFormat | None = None
    grammar: str | None = None  # GBNF, as llama.cpp's server takes it; or Lark's syntax


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of an answer that only llama.cpp's server has, and the fields of its object."""

    indent: int = 0  # blanks at the start of its lines; the first with fewer is left out
    seconds: float | None = None  # of decoding, after which its line is the last
    is_empty: bool = False  # whether the prompt is only prefilled
    fields: tuple[str, ...] = ()  # of the object of the whole answer; empty: all


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A parsed chat completion."""

    model: str  # that answers
    request: Request
    streams: bool
    wants_usage: bool  # at the end of a stream
    names_call: bool = False  # whether it says which function has to be called
    is_strict: bool = False
    notices: tuple[str, ...] = ()  # on what is not obeyed exactly, in sentences
    limits: Limits = Limits()


class Adapted(NamedTuple):
    """The fields of a body as a chat completion has them, and what else a request needs."""

    fields: Fields
    defaults: Request
    limits: Limits = Limits()
    needs_model: bool = True  # if it is read strictly
    names: Mapping[str, str] = {}  # of fields in the body, by those of a chat completion


Adapt = Callable[[Fields, Notices, Request], Adapted]
"""Makes a chat completion of another body. It may raise an `ApiError`."""


def from_chat(fields: Fields, notices: Notices, defaults: Request) -> Adapted:
    """Take the body of a chat completion as it is."""
    return Adapted(fields, defaults)


def parse(
    body: bytes, defaults: Request, served: str, adapt: Adapt = from_chat, strict: bool = False
) -> CompletionRequest:
    """Parse the body of a completion for the model that is served by a name.

    The defaults hold where a field is not set. `strict` refuses what has no effect. ApiError if it
    is not a JSON object, or a field of it is unsupported or invalid.
    """
    text = without_lone_surrogates(body)
    try:
        fields = msgspec.json.decode(text, type=Fields)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, f"The body is not a JSON object: {error}.", "invalid_json") from error
    notices = Notices(strict or fields.get("strict_api") is True)
    if text != body:
        notices.add("Half a character (a lone surrogate) is read as U+FFFD", None, "invalid_json")
    adapted = adapt(fields, notices, defaults)
    try:
        return _parse(adapted, served, notices)
    except ApiError as error:
        raise error.with_other_names(adapted.names) from error


def _parse(adapted: Adapted, served: str, notices: Notices) -> CompletionRequest:
    fields = dialect.adapt_fields(adapted.fields, notices)
    for name in _UNSUPPORTED.keys() & fields.keys():
        if fields[name] not in _UNSUPPORTED[name]:
            why = f"{name} is not supported; {_INSTEAD.get(name, 'leave it out')}."
            raise ApiError(400, why, "unsupported_parameter", name)
    wanted = convert_fields(fields, _CompletionBody, notices)
    dialect.note_unknown({**fields, **dict.fromkeys(_UNSUPPORTED)}, wanted, notices)
    if adapted.needs_model and not wanted.model and notices.strict:
        refuse("The model is missing; strict_api refuses that.", "model")
    if wanted.model and wanted.model != served:
        why = f"The model asked for is {shorten(wanted.model)}; {served} answers"
        notices.add(why, "model", "model_not_found", 404)
    try:
        request = _request(wanted, adapted.defaults, notices)
    except (UsageError, ValueError) as error:
        name = str(error).split()[0]
        param = name if name in _CompletionBody.__struct_fields__ else None
        raise ApiError(400, f"{error}.", "invalid_value", param) from error
    streams, names_call = bool(wanted.stream), isinstance(wanted.tool_choice, chat.Function)
    wants_usage = bool((wanted.stream_options or {}).get("include_usage"))
    read = notices.strict, tuple(notices.texts), adapted.limits
    return CompletionRequest(served, request, streams, wants_usage, names_call, *read)


def convert_fields(fields: Fields, kind: type[T], notices: Notices) -> T:
    """Return those fields of a body that a struct has; ApiError if a type or value is wrong."""
    try:  # 5.0 and "5" are whole numbers, unless it is read strictly
        return msgspec.convert(fields, kind, strict=notices.strict)
    except msgspec.ValidationError as error:
        where = str(error).rpartition("`$.")[2].rstrip("`") if "`$." in str(error) else None
        raise ApiError(400, f"{error}.", "invalid_value", where) from error


def _request(wanted: _CompletionBody, defaults: Request, notices: Notices) -> Request:
    sampling = {name: getattr(wanted, name, None) for name in defaults.sampling.RANGES}
    tools, choice = chat.offer(wanted.tools or [], wanted.tool_choice)
    several = wanted.parallel_tool_calls is not False
    given = {
        **msgspec.structs.asdict(wanted.specchat or _Speculation()),
        **_thinking(wanted),
        "max_tokens": wanted.max_completion_tokens or wanted.max_tokens,
        "seed": wanted.seed,
    }
    return replace(
        defaults,
        messages=chat.conversation(wanted.messages, defaults.messages, notices),
        sampling=replace(defaults.sampling, **dialect.without_nulls(sampling)),
        stop_strings=(wanted.stop,) if isinstance(wanted.stop, str) else wanted.stop or (),
        logprobs=(wanted.top_logprobs or 0) if wanted.logprobs or wanted.top_logprobs else None,
        constraint=_constraint(wanted),
        tools=tools,
        tool_choice=choice,
        # As in OpenAI's API, a function that is named is called once.
        parallel_calls=several and not isinstance(wanted.tool_choice, chat.Function),
        prediction=chat.text_of(wanted.prediction.content, "") if wanted.prediction else "",
        **dialect.without_nulls(given),
    )


def _constraint(wanted: _CompletionBody) -> Constraint | None:
    given, schema = wanted.response_format, None
    if given and given.type != "text":
        schema = given.json_schema.schema if given.json_schema else given.schema
        if given.type == "json_object":
            schema = schema or {"type": "object"}
        elif schema is None:
            refuse("A response_format of the type json_schema needs a schema.", "response_format")
    if schema is not None and wanted.grammar:
        refuse("An answer has one form: grammar or response_format, not both.", "grammar")
    try:
        if schema is not None:
            return Constraint("schema", msgspec.json.encode(schema).decode())
        return Constraint("grammar", wanted.grammar) if wanted.grammar else None
    except UsageError as error:  # it is too long
        refuse(f"{error}.", "grammar" if schema is None else "response_format")


def _thinking(wanted: _CompletionBody) -> Fields:
    """Return the request's fields about thinking; the effort `none` switches it off."""
    variables = wanted.chat_template_kwargs or _TemplateVariables()
    switch = variables.thinking if variables.enable_thinking is None else variables.enable_thinking
    effort = _EFFORTS.get(wanted.reasoning_effort or "", wanted.reasoning_effort)
    if effort == "none":
        switch, effort = False, None
    return {"thinking": None if switch is None else "on" if switch else "off", "effort": effort}


_EFFORTS = {"minimal": "low", "xhigh": "high", "max": "high"}
