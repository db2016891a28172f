"""Settings of MCP servers: unusable ones are refused before anything starts."""

from functools import partial

import pytest

from assistant.tools.values import ServerSettings
from models.errors import UsageError

MISLEADING = ("", "a__b", "_a", "a-", "a b", "f\u0456les", "a" * 25, "files")
ELSEWHERE = (
    "http://example.com/mcp", "http://127.0.0.1.example.com/", "http://10.0.0.1/",
    "http://user:password@127.0.0.1/", "http://[::ffff:10.0.0.1]/", "file:///etc/passwd",
    "http://", "http://[::1", "http://127.0.0.1:99999/", "127.0.0.1",
)  # fmt: skip
THERE = partial(ServerSettings, url="https://tools.lan:8443/mcp", allow_host="tools.lan")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        *(({"name": name, "command": "true"}, "name") for name in MISLEADING),
        *(({"url": url}, r"url|another machine") for url in ELSEWHERE),
        ({}, 'server "srv"'),
        ({"command": "a", "url": "http://127.0.0.1/"}, 'server "srv"'),
        ({"command": "true", "headers": (("X-Key", "a"),)}, "need a url"),
        *(
            ({**THERE.keywords, "headers": ((name, "s3cret"),)}, "cannot have a header")
            for name in ("", "a b", "a:", "é")
        ),
    ],
    ids=str,
)
def test_a_name_or_an_address_that_misleads_and_what_nothing_can_be_made_of_is_refused(
    settings, why
):
    with pytest.raises(UsageError, match=why):
        ServerSettings(**{"name": "srv", **settings})


HERE = "http://127.0.0.1:8000/mcp", "http://localhost/", "https://[::1]:1/", "http://127.8.8.8/"


@pytest.mark.parametrize(
    ("url", "host"), [*((url, "") for url in HERE), ("https://tools.lan/mcp", "Tools.lan")]
)
def test_another_machine_needs_its_own_name_as_permission_and_this_one_none(url, host):
    assert ServerSettings("srv", url=url, allow_host=host).url == url
    with pytest.raises(UsageError, match=r'set allow_host = "other\.lan"'):
        ServerSettings("srv", url="https://other.lan/mcp", allow_host="tools.lan")


@pytest.mark.parametrize(
    "value", ["", " s3cret", "s3cret ", "s3cret\n", "s3c\0ret", "s3cret\x7f", "s3crét", "\ts3cret"]
)
def test_a_value_that_no_header_can_have_is_refused_and_not_shown(value):
    with pytest.raises(UsageError, match=r"The header Authorization of the server") as refused:
        THERE("srv", headers=(("Authorization", value),))
    assert "s3c" not in str(refused.value)
