"""What a chat completion may ask for, checked word by word, and the request that it makes."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import msgspec

from assistant.request import MOST_ANSWERS, AnswerForm, Mode, Request
from assistant.serve.messages_schema import Said, conversation
from assistant.serve.refusal import Refusal, refuse
from assistant.serve.tools_schema import Choice, NamedFunction, Tools, offered
from models.errors import UsageError

_Text = Annotated[str, msgspec.Meta(min_length=1)]
_Stops = Annotated[tuple[_Text, ...], msgspec.Meta(max_length=16)]
_Seed = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_Count = Annotated[int, msgspec.Meta(ge=1, lt=2**31)]
_Answers = Annotated[int, msgspec.Meta(ge=1, le=MOST_ANSWERS)]

# What has no effect at these values is accepted there, and nowhere else.
_NEUTRAL: dict[str, tuple[object, ...]] = {
    "logprobs": (False,),
    "top_logprobs": (0,),
    "presence_penalty": (0,),
    "frequency_penalty": (0,),
    "logit_bias": ({},),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "modalities": (["text"],),
    "audio": (),
    "prediction": (),
    "web_search_options": (),
    "store": (False,),
    "service_tier": ("auto", "default"),
}
_INSTEAD = {"functions": "use tools", "function_call": "use tool_choice"}
_LABELS = {"user", "metadata", "safety_identifier", "prompt_cache_key"}
"""What is about the one who asks, and changes no answer."""


class _StreamOptions(msgspec.Struct, forbid_unknown_fields=True):
    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class _Speculation(msgspec.Struct, forbid_unknown_fields=True):
    """How to decode; what OpenAI has no word for."""

    mode: Mode | None = None
    lookahead: Annotated[int, msgspec.Meta(ge=0, le=31)] | None = None
    thinking_budget: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] | None = None


class _TemplateWords(msgspec.Struct, forbid_unknown_fields=True):
    """The variables of chat templates that mean something here, as other servers take them."""

    enable_thinking: bool | None = None


class _PlainText(msgspec.Struct, tag_field="type", tag="text", forbid_unknown_fields=True):
    pass


class _JsonObject(msgspec.Struct, tag_field="type", tag="json_object", forbid_unknown_fields=True):
    schema: dict[str, Any] | None = None  # llama.cpp's server takes one here


class _NamedSchema(msgspec.Struct, forbid_unknown_fields=True):
    schema: dict[str, Any]
    name: str | None = None
    description: str | None = None
    strict: bool | None = None  # every schema is kept to the letter


class _JsonSchema(msgspec.Struct, tag_field="type", tag="json_schema", forbid_unknown_fields=True):
    json_schema: _NamedSchema


class _Wanted(msgspec.Struct):
    model: str
    messages: Annotated[list[Said], msgspec.Meta(min_length=1)]
    n: _Answers | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    max_tokens: _Count | None = None
    max_completion_tokens: _Count | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: Annotated[int, msgspec.Meta(lt=2**31)] | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    seed: _Seed | None = None
    stop: _Text | _Stops | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    chat_template_kwargs: _TemplateWords | None = None
    specchat: _Speculation | None = None
    tools: Tools | None = None
    tool_choice: Choice | None = None
    parallel_tool_calls: bool | None = None
    response_format: _PlainText | _JsonObject | _JsonSchema | None = None
    grammar: _Text | None = None  # GBNF, as llama.cpp's server takes it; or Lark's syntax


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A chat completion that was asked for."""

    model: str
    request: Request
    streams: bool
    wants_usage: bool  # at the end of a stream
    names_call: bool = False  # whether it says which function has to be called


def understand(body: bytes, usual: Request) -> CompletionRequest:
    """Return what a body asks for; `usual` has what it leaves open.

    Raises:
        Refusal: it is not JSON, or asks for what there is not.
    """
    wanted = _checked(body)
    options = wanted.stream_options or _StreamOptions()
    try:
        request = _request(wanted, usual)
    except UsageError as error:
        raise Refusal(400, f"{error}.", "invalid_value", str(error).split()[0]) from error
    return CompletionRequest(
        wanted.model,
        request,
        bool(wanted.stream),
        bool(options.include_usage),
        isinstance(wanted.tool_choice, NamedFunction),
    )


def _checked(body: bytes) -> _Wanted:
    try:
        fields = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Refusal(400, f"The body is not a JSON object: {error}.", "invalid_json") from error
    known = set(_Wanted.__struct_fields__)
    for name in fields.keys() - known - _LABELS:
        _pass(name, fields[name])
    try:
        return msgspec.convert(fields, _Wanted)
    except msgspec.ValidationError as error:
        where = str(error).rpartition("`$.")[2].rstrip("`") if "`$." in str(error) else None
        raise Refusal(400, f"{error}.", "invalid_value", where) from error


def _pass(name: str, value: object) -> None:
    """Let a field through that changes nothing."""
    if name not in _NEUTRAL:
        raise Refusal(400, f"There is no parameter {name}.", "unknown_parameter", name)
    if value is not None and not any(_same(value, neutral) for neutral in _NEUTRAL[name]):
        instead = _INSTEAD.get(name, "leave it out")
        what = f"{name} is not supported; {instead}."
        raise Refusal(400, what, "unsupported_parameter", name)


def _same(value: object, neutral: object) -> bool:
    return value == neutral and isinstance(value, bool) == isinstance(neutral, bool)


def _request(wanted: _Wanted, usual: Request) -> Request:
    names = ("temperature", "top_k", "top_p", "min_p", "repeat_penalty")
    given = {name: getattr(wanted, name) for name in names if getattr(wanted, name) is not None}
    speculation = wanted.specchat or _Speculation()
    tools, choice = offered(wanted.tools or [], wanted.tool_choice)
    stops = (wanted.stop,) if isinstance(wanted.stop, str) else wanted.stop or ()
    return replace(
        usual,
        messages=conversation(wanted.messages, usual.messages),
        sampling=replace(usual.sampling, **given),
        mode=speculation.mode or usual.mode,
        lookahead=usual.lookahead if speculation.lookahead is None else speculation.lookahead,
        max_tokens=wanted.max_completion_tokens or wanted.max_tokens or usual.max_tokens,
        seed=usual.seed if wanted.seed is None else wanted.seed,
        stop_strings=stops,
        answers=wanted.n or 1,
        form=_form(wanted),
        tools=tools,
        tool_choice=choice,
        parallel_calls=wanted.parallel_tool_calls is not False,
        **_thinking(wanted, speculation),
    )


def _form(wanted: _Wanted) -> AnswerForm | None:
    match wanted.response_format:
        case _JsonObject(schema):
            schema = schema or {"type": "object"}
        case _JsonSchema(_NamedSchema(schema)):
            pass
        case _:
            return None if wanted.grammar is None else AnswerForm("grammar", wanted.grammar)
    if wanted.grammar is not None:
        why = "An answer has one form: grammar or response_format, not both."
        refuse(why, "grammar")
    return AnswerForm("schema", msgspec.json.encode(schema).decode())


def _thinking(wanted: _Wanted, speculation: _Speculation) -> dict[str, Any]:
    """Return what is asked of thinking; an effort of none switches it off."""
    words, found = wanted.chat_template_kwargs or _TemplateWords(), dict[str, Any]()
    if words.enable_thinking is not None:
        found["thinking"] = "on" if words.enable_thinking else "off"
    if wanted.reasoning_effort == "none":
        found["thinking"] = "off"
    elif wanted.reasoning_effort:
        found["effort"] = _EFFORTS.get(wanted.reasoning_effort, wanted.reasoning_effort)
    if speculation.thinking_budget is not None:
        found["thinking_budget"] = speculation.thinking_budget
    return found


_EFFORTS = {"minimal": "low", "xhigh": "high"}
