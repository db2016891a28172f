"""The sandbox in which chat templates run: programs by strangers, whose time is limited."""

import json
from datetime import datetime
from time import monotonic
from typing import Any, NoReturn

import jinja2
from jinja2.ext import Extension
from jinja2.nodes import Call, CallBlock, ExprStmt, For, Macro, Name, Node
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

LONGEST_S = 20.0
"""Seconds that a template may take; a loop in it may have no end."""
LARGEST, LARGEST_EXPONENT = 1 << 64, 64
"""The largest numbers that a template may raise to a power."""
_CHECK = "_specchat_check_time"


class TooSlow(Exception):
    """A template takes longer than it may."""


def compile_template(source: str) -> tuple[jinja2.Template, frozenset[str]]:
    """Return a template, and the names of the variables that it reads; it may fail with any error.

    Each iteration of its loops and each call of its macros checks the time.
    """
    tree = ENVIRONMENT.parse(source)
    names = frozenset(name.name for name in tree.find_all(Name) if name.ctx == "load")
    for node in [*tree.find_all((For, Macro, CallBlock))]:
        check = ExprStmt(Call(Name(_CHECK, "load"), [], [], None, None), lineno=node.lineno)
        node.body.insert(0, check)  # type: ignore[attr-defined]  # all three have one
    return ENVIRONMENT.from_string(tree), names


def render_template(template: jinja2.Template, variables: dict[str, object]) -> str:
    """Return the text of a template; TooSlow after `LONGEST_S`, or any error at all."""
    end_s = monotonic() + LONGEST_S

    def check_time() -> None:
        if monotonic() > end_s:
            raise TooSlow

    return template.render(variables, **{_CHECK: check_time})


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _to_json(
    value: Any,
    indent: int | None = None,
    ensure_ascii: bool = False,  # ignored: escapes would hide masks
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Return JSON; unlike Jinja's own filter, without escapes for HTML."""
    return json.dumps(
        value, ensure_ascii=False, indent=indent, separators=separators, sort_keys=sort_keys
    )


class _Generation(Extension):
    """Render the body of `generation` blocks, which mark text to train on, as it is."""

    tags = {"generation"}  # noqa: RUF012 - as its base has it

    def parse(self, parser: Parser) -> list[Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Sandbox(ImmutableSandboxedEnvironment):
    """An environment that refuses large powers: nothing could interrupt their computation."""

    intercepted_binops = frozenset(("**",))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Raise to a small power."""
        if abs(left) > LARGEST or abs(right) > LARGEST_EXPONENT:
            raise OverflowError("a number in it is too large")
        return super().call_binop(context, operator, left, right)


ENVIRONMENT = _Sandbox(
    trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation]
)
del ENVIRONMENT.globals["lipsum"]  # it makes any number of words
ENVIRONMENT.filters["tojson"] = _to_json
ENVIRONMENT.globals["raise_exception"] = _raise_exception
ENVIRONMENT.globals["strftime_now"] = lambda pattern: datetime.now().strftime(pattern)
