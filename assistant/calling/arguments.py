"""The arguments of a call as they stream, and questions about their JSON Schema."""

Schema = dict[str, object]
ANY_OBJECT: Schema = {"type": "object"}
OBJECT = frozenset({"type", "properties", "required", "additionalProperties"})
ASSERTING = OBJECT | {
    "enum", "const", "allOf", "anyOf", "oneOf", "not", "if", "$ref", "$dynamicRef",
    "minLength", "maxLength", "pattern", "format",
    "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "items", "prefixItems", "additionalItems", "unevaluatedItems", "minItems", "maxItems",
    "uniqueItems", "contains", "minContains", "maxContains",
    "patternProperties", "propertyNames", "unevaluatedProperties", "minProperties",
    "maxProperties", "dependencies", "dependentRequired", "dependentSchemas",
}  # fmt: skip
"""The keywords of JSON Schema by which a value can be wrong."""
_OPEN = {"anyOf", "oneOf", "allOf", "$ref", "patternProperties"}
"""The keywords that may allow properties beyond those listed under `properties`."""


class JsonArguments:
    """Arguments that are a JSON object."""

    def __init__(self) -> None:
        self._depth = 0
        self._quoted = self._escaped = False

    def read(self, text: str) -> tuple[str, str | None]:
        """Return the JSON that a text adds, and what follows the object; None until it ends."""
        for index, character in enumerate(text):
            if self._escaped:
                self._escaped = False
            elif self._quoted:
                self._escaped = character == "\\"
                self._quoted = character != '"'
            elif character == '"':
                self._quoted = True
            elif character in "{[":
                self._depth += 1
            elif character in "}]":
                self._depth -= 1
                if self._depth <= 0:
                    return text[: index + 1], text[index + 1 :]
        return text, None


def properties(schema: Schema) -> dict[str, Schema]:
    """Return the schemas of an object's properties by name; {} stands for any value."""
    known = schema.get("properties")
    named = known.items() if isinstance(known, dict) else ()
    return {
        name: value if isinstance(value, dict) else {}
        for name, value in named
        if value is not False
    }


def required(schema: Schema) -> set[str]:
    """Return the names of an object's required properties."""
    names = schema.get("required")
    return {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()


def is_closed(schema: Schema) -> bool:
    """Return whether an object may have the properties its schema lists, and no others."""
    known = schema.get("properties")
    if not isinstance(known, dict) or _OPEN & schema.keys() or not required(schema) <= {*known}:
        return False
    return schema.get("additionalProperties", False) is False


def closed(schema: object) -> Schema:
    """Return the schema of a tool's arguments as an object's, closed unless it says otherwise."""
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return ANY_OBJECT
    more = {"additionalProperties": False} if is_closed(schema) else {}
    return {**schema, **ANY_OBJECT, **more}


def texts_of(schema: Schema) -> list[str]:
    """Return the values of `const` or `enum` if all of them are strings, else an empty list."""
    listed = [schema["const"]] if "const" in schema else schema.get("enum")
    texts = listed if isinstance(listed, list) else []
    return texts if all(isinstance(text, str) for text in texts) else []
