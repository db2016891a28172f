"""Frozen values as bytes and back: msgpack, tagged with the name of the value's class.

A codec is made from a union of dataclasses and follows their annotations, also into fields that
hold such unions themselves: a new event or job needs no line here.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Generic, TypeVar, get_args, get_type_hints

import msgspec

from assistant.process import plain
from assistant.process.unions import Choice, shape_of
from models.errors import UsageError

Value = TypeVar("Value")


class Garbled(Exception):
    """Bytes that are no message of ours."""


class Codec(Generic[Value]):
    """Encode and decode the members of a union of dataclasses."""

    def __init__(self, union: Any) -> None:
        self._kinds = {kind.__name__: _Kind(kind) for kind in get_args(union)}
        self._tagged = msgspec.msgpack.Decoder(tuple[str, msgspec.Raw])

    def encode(self, value: Value) -> bytes:
        """Return the bytes of a value.

        Raises:
            TypeError: a part of it is no plain value.
        """
        name = type(value).__name__
        return plain.encode((name, self._kinds[name].to_plain(value)))

    def decode(self, data: bytes) -> Value:
        """Return the value that `encode` was given.

        Raises:
            Garbled: it is not one of the union's, to the type of every part.
        """
        try:
            name, payload = self._tagged.decode(data)
            value: Value = self._kinds[name].decode(payload)
        # KeyError: no such class; ValueError: msgspec's errors, and text that is not UTF-8;
        # UsageError: a value that its class does not allow
        except (KeyError, ValueError, RecursionError, UsageError) as error:
            raise Garbled(f"{type(error).__name__}: {error}") from error
        return value


class _Kind:
    """One class of a union; msgspec itself cannot decode a field that holds a union of classes."""

    def __init__(self, kind: type[Any]) -> None:
        hints = get_type_hints(kind)
        shapes = [(field.name, shape_of(hints[field.name])) for field in fields(kind)]
        self._kind = kind
        self._chosen = {name for name, shape in shapes if shape != hints[name]}
        shape = msgspec.defstruct(kind.__name__, shapes) if self._chosen else kind
        self._decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(
            shape, dec_hook=_decode
        )

    def to_plain(self, value: Any) -> Any:
        """Return what msgspec can encode."""
        if not self._chosen:
            return value
        parts = _parts(value)
        return parts | {name: _tag(parts[name]) for name in self._chosen}

    def decode(self, payload: msgspec.Raw) -> Any:
        """Return the value that `to_plain` was given."""
        decoded = self._decoder.decode(payload)
        return self._kind(**_parts(decoded, self._kind)) if self._chosen else decoded


def _parts(value: Any, kind: type[Any] | None = None) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(kind or value)}


def _tag(value: Any) -> Any:
    """Give every dataclass in a field its name; one that holds a union in its turn is no case."""
    match value:
        case tuple() | list():
            return [_tag(item) for item in value]
        case Mapping():
            return {key: _tag(item) for key, item in value.items()}
        case None | str() | int() | float() | bytes():
            return value
    return type(value).__name__, value


def _decode(kind: type[Any], value: Any) -> Any:
    if issubclass(kind, Choice):
        match value:
            case [str(name), payload] if name in kind.members:
                return msgspec.convert(payload, kind.members[name], dec_hook=plain.decode_hook)
        raise ValueError(f"not one of {', '.join(kind.members)}")
    return plain.decode_hook(kind, value)
