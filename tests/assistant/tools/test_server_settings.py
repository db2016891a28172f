"""Settings of MCP servers: unusable ones are refused before anything starts."""

import pytest

from assistant.tools.values import ServerSettings
from models.errors import UsageError


@pytest.mark.parametrize("name", ["", "a__b", "_a", "a-", "a b", "f\u0456les", "a" * 25, "files"])
def test_a_name_that_misleads_is_refused(name):
    with pytest.raises(UsageError, match="name"):
        ServerSettings(name, "true")


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/mcp", "http://127.0.0.1.example.com/", "http://10.0.0.1/",
        "http://user:password@127.0.0.1/", "http://[::ffff:10.0.0.1]/", "file:///etc/passwd",
        "http://", "http://[::1", "http://127.0.0.1:99999/", "127.0.0.1",
    ],
)  # fmt: skip
def test_an_address_elsewhere_is_refused(url):
    with pytest.raises(UsageError, match=r"url|another machine"):
        ServerSettings("srv", url=url)


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8000/mcp", "http://localhost/", "https://[::1]:1/", "http://127.8.8.8/"],
)
def test_this_machine_needs_no_permission(url):
    assert ServerSettings("srv", url=url).url == url


def test_another_machine_needs_its_own_name_as_permission():
    assert ServerSettings("srv", url="https://tools.lan/mcp", allow_host="Tools.lan")
    with pytest.raises(UsageError, match=r'set allow_host = "other\.lan"'):
        ServerSettings("srv", url="https://other.lan/mcp", allow_host="tools.lan")


@pytest.mark.parametrize("values", [{}, {"command": "a", "url": "http://127.0.0.1/"}])
def test_a_server_without_one_command_or_url_is_refused(values):
    with pytest.raises(UsageError, match='server "srv"'):
        ServerSettings("srv", **values)


URL = "https://tools.lan:8443/mcp"


def with_headers(*headers, url=URL):
    return ServerSettings("srv", url=url, allow_host="tools.lan", headers=headers)


@pytest.mark.parametrize(
    "value", ["", " s3cret", "s3cret ", "s3cret\n", "s3c\0ret", "s3cret\x7f", "s3crét", "\ts3cret"]
)
def test_a_value_that_no_header_can_have_is_refused_and_not_shown(value):
    with pytest.raises(UsageError, match=r"The header Authorization of the server") as refused:
        with_headers(("Authorization", value))
    assert "s3c" not in str(refused.value)


@pytest.mark.parametrize("name", ["", "a b", "a:", "é"])
def test_a_name_that_no_header_can_have_is_refused(name):
    with pytest.raises(UsageError, match="cannot have a header"):
        with_headers((name, "s3cret"))


def test_headers_are_given_to_an_address():
    with pytest.raises(UsageError, match="need a url"):
        ServerSettings("srv", "true", headers=(("X-Key", "a"),))
