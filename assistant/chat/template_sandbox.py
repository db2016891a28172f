"""Jinja's sandbox without numbers that take for ever: no bound in time interrupts arithmetic."""

from typing import Any

from jinja2.filters import do_round
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from assistant.chat.template_limits import TooMuch

MOST_BITS = 4096
"""Of the numbers that a template computes with; no date and no length has a hundredth of that."""
_MOST_DIGITS = 300


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """Render templates that reach nothing, and compute with numbers of some length at most."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.filters["round"] = _round

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute, unless it would take long."""
        if isinstance(left, int) and isinstance(right, int):
            size = left.bit_length()
            if (size * right if operator == "**" else size + right.bit_length()) > MOST_BITS:
                raise TooMuch("its numbers are too long")
        return super().call_binop(context, operator, left, right)


def _round(value: float, precision: int = 0, method: Any = "common") -> float:
    if abs(precision) > _MOST_DIGITS:
        raise TooMuch("its numbers are too long")
    return do_round(value, precision, method)
