"""Invalid requests are refused before they reach the engine."""

import pytest

from assistant.request import Message, Request
from models.errors import UsageError


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_tokens", 0), ("lookahead", -1), ("seed", -1), ("stop_strings", ("a" * 1001,))],
)
def test_an_invalid_field_of_a_request_is_refused_by_name(name, value):
    with pytest.raises(UsageError, match=name.removesuffix("_strings")):
        Request((Message("user", "?"),), **{name: value})
