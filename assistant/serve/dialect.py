"""Fields and values for other servers: translated, or named as having no effect."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from assistant.serve.api_error import ApiError, shorten

Fields = dict[str, Any]
MOST_NOTICES = 20  # on one request

# Fields of any object that only describe the client, or come back from an answer.
_LABELS = {
    "user", "metadata", "safety_identifier", "prompt_cache_key", "strict_api",
    "name", "refusal", "annotations", "index", "provider_specific_fields",
}  # fmt: skip
_SYNONYMS = {"repetition_penalty": "repeat_penalty"}
_SYNONYMS |= dict.fromkeys(("n_predict", "num_predict"), "max_tokens")
_SCHEMAS = {"json_schema", "guided_json", "format"}  # of the answer, in other servers
_NO_FORM = {"type": "text"}
_LARGEST = 2**31 - 1


@dataclass
class Notices:
    """Collect sentences on what a request has that is accepted and not obeyed exactly."""

    strict: bool = False  # whether to refuse the request instead
    texts: list[str] = field(default_factory=list)

    def add(
        self, text: str, param: str | None, code: str = "invalid_value", status: int = 400
    ) -> None:
        """Add a sentence without its full stop; ApiError if the request is read strictly."""
        if self.strict:
            raise ApiError(status, f"{text}; strict_api refuses that.", code, param)
        if len(self.texts) < MOST_NOTICES and f"{text}." not in self.texts:
            self.texts.append(f"{text}.")


def without_nulls(fields: Fields) -> Fields:
    """Return the fields that are set: null stands for the default."""
    return {name: value for name, value in fields.items() if value is not None}


def adapt_fields(fields: Fields, notices: Notices) -> Fields:
    """Return the fields of a body as the schema has them: by their usual names and values."""
    fields = without_nulls(fields)
    if isinstance(fields.get("options"), dict):  # as ollama has them
        notices.add("options are read as fields of the body", "options", "unknown_parameter")
        fields = without_nulls(fields.pop("options")) | fields
    for name in _SYNONYMS.keys() & fields.keys():
        if (usual := _SYNONYMS[name]) not in fields:
            notices.add(f"{name} is read as {usual}", name, "unknown_parameter")
            fields[usual] = fields.pop(name)
    for names, applies, value, text in _SPECIAL_NUMBERS:
        for name in names.split():
            given = fields.get(name)
            if isinstance(given, int | float) and given is not False and applies(given):
                notices.add(f"{name}: {text}", name)
                fields[name] = value
    stops = fields.get("stop", [])
    listed = stops if isinstance(stops, list) else [stops]
    if len(strings := [stop for stop in listed if stop not in ("", None)]) < len(listed):
        notices.add("Empty stop strings stop nothing", "stop")
        fields["stop"] = strings
    for name in _SCHEMAS & fields.keys():
        if fields.get("response_format", _NO_FORM) == _NO_FORM and (schema := fields.pop(name)):
            notices.add(f"{name} is read as response_format", name, "unknown_parameter")
            schema = {"schema": schema} if schema != "json" else {}
            fields["response_format"] = {"type": "json_object", **schema}
    switch = fields.pop("enable_thinking", None)
    if fields.get("thinking") == {"type": "disabled"}:
        switch = False
    if switch is not None:
        notices.add("enable_thinking is read as if in chat_template_kwargs", "enable_thinking")
        fields["chat_template_kwargs"] = {"enable_thinking": switch}
    return fields


# Numbers with a special meaning: the fields, a test, the value that is used instead, and why.
_SPECIAL_NUMBERS: tuple[tuple[str, Callable[[float], bool], float | None, str], ...] = (
    ("max_tokens max_completion_tokens", lambda n: n < 1, None, "below 1 is no limit"),
    ("max_tokens max_completion_tokens", lambda n: n > _LARGEST, _LARGEST, "as many as fit"),
    ("seed", lambda n: n < 0, None, "below 0 is none"),
    ("top_k", lambda n: n < 0, 0, "below 0 keeps all"),
    ("top_p", lambda n: n == 0, 1e-9, "0 keeps the likeliest token"),
)


def note_unknown(raw: object, parsed: object, notices: Notices) -> None:
    """Add a notice for each field of a body that the struct made of it does not have."""
    for path in _unknown(raw, parsed, ""):
        name = shorten(re.sub(r"\[\d+\]", "[]", path))
        notices.add(f"There is no parameter {name}, so it has no effect", path, "unknown_parameter")


def _unknown(raw: object, parsed: object, where: str) -> Iterator[str]:
    """Yield the paths of unknown fields, except for labels and empty ones."""
    if isinstance(raw, list) and isinstance(parsed, list | tuple):
        for i, (one, other) in enumerate(zip(raw, parsed, strict=False)):
            yield from _unknown(one, other, f"{where}[{i}]")
    if not (isinstance(raw, dict) and isinstance(parsed, msgspec.Struct)):
        return
    known = {*parsed.__struct_fields__, parsed.__struct_config__.tag_field}
    for name, value in raw.items():
        path = f"{where}.{name}" if where else name
        if name in known:
            yield from _unknown(value, getattr(parsed, name, None), path)
        elif name not in _LABELS and value not in (None, False, [], {}):
            yield path
