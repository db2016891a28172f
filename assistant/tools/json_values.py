"""The values of JSON texts that models and servers write."""

import json
import re
from typing import Any

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def parsed(text: bytes) -> Any:
    """Return the value of a JSON text, without halves of surrogate pairs: no encoding has them.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it nests too deep.
    """
    value = json.loads(text.decode("utf-8", "replace"), parse_constant=_refuse)
    if _SURROGATE.search(text):
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
