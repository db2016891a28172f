"""Annotations in which a union of dataclasses is a type that msgspec knows to hand back to us."""

from abc import ABC
from dataclasses import is_dataclass
from functools import reduce
from operator import or_
from types import UnionType
from typing import Any, ClassVar, Literal, Union, get_args, get_origin


class Choice(ABC):
    """Stands for a union of dataclasses; they are registered as its subclasses."""

    members: ClassVar[dict[str, type[Any]]]


def shape_of(hint: Any) -> Any:
    """Return an annotation with every union of dataclasses in it replaced by a `Choice`."""
    origin, arguments = get_origin(hint), get_args(hint)
    if not arguments or origin is Literal:
        return hint
    classes = [argument for argument in arguments if is_dataclass(argument)]
    if len(classes) > 1:
        arguments = (_choice(classes), *(set(arguments) - set(classes)))
    shapes = tuple(argument if argument is ... else shape_of(argument) for argument in arguments)
    if shapes == get_args(hint):
        return hint
    return reduce(or_, shapes) if origin in (Union, UnionType) else origin[shapes]


def _choice(classes: list[Any]) -> type[Choice]:
    class OneOf(Choice):
        members: ClassVar[dict[str, type[Any]]] = {kind.__name__: kind for kind in classes}

    for kind in classes:
        OneOf.register(kind)
    return OneOf
