"""`ToolSet`: MCP servers by standard streams and HTTP, their secrets and addresses."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import ModuleType
from typing import ClassVar

import pytest

from assistant.tools.server import usable_tools
from assistant.tools.toolbox import ToolSet
from assistant.tools.values import ServerSettings, ToolSettings
from tests.assistant.tools.odd_server import Server
from tests.assistant.tools.toolboxes import call, odd, opened, report


async def test_a_server_is_started_when_it_is_needed_and_its_results_are_texts():
    tools = ToolSet(ToolSettings(servers=(odd("Failing", name="a"), odd("Parts"))))
    assert report(tools).state == "off"
    await tools.refresh()
    read_only = {name: tool.read_only for name, tool in tools.offered.items()}
    assert read_only == {"a__go": False, "odd__go": True, "odd__other": False}
    assert (await call(tools)).text == "a text\n[image, left out]\n\U0001f600 \ufffd \\ud83d"
    assert (await call(tools, "odd__other")).text == '{"degrees": 20}'
    failed = await call(tools, "a__go")
    assert (failed.text, failed.state) == ("no such thing", "failed")
    await tools.close()
    assert (report(tools).state, report(tools).tools) == ("off", ())


async def test_a_server_gets_no_variables_but_the_usual_and_those_of_its_settings(monkeypatch):
    from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS  # a second to load, in every worker

    from assistant.tools.session import INHERITED, MARK

    monkeypatch.setenv("SECRET_TOKEN", "secret")
    async with opened(replace(odd("Environment"), env=(("OWN", "1"),))) as tools:
        names = set((await call(tools)).text.split())
    assert "OWN" in names
    usual = {*INHERITED, MARK, *DEFAULT_INHERITED_ENV_VARS}
    assert names <= {"OWN", "LC_CTYPE", *usual}  # Python itself may set LC_CTYPE


def test_an_approval_is_for_a_command_and_all_that_its_server_says():
    from mcp_types import Tool, ToolAnnotations

    tool, run = Tool(name="go", input_schema={}), ServerSettings("srv", "run")
    notes = {"annotations": ToolAnnotations(read_only_hint=True)}
    changes = notes, {"title": "b"}, {"description": "b"}, {"input_schema": {"b": 1}}
    servers = replace(run, command="b"), replace(run, args=("b",)), replace(run, cwd="/")
    pairs = [(server, tool) for server in (run, *servers, run)]
    pairs += [(run, tool.model_copy(update=change)) for change in changes]
    tools = [tool for server, listed in pairs for tool in usable_tools(server, [listed])[0]]
    assert len({tool.fingerprint for tool in tools}) == len(tools) - 1 == 8  # one is there twice


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        (ServerSettings("srv", "no-such-program"), "There is no no-such-program"),
        (ServerSettings("srv", "true", cwd="/no/such/folder"), "There is no /no/such/folder"),
        (ServerSettings("srv", "a\0b"), "It cannot be started (embedded null byte)"),
        (ServerSettings("srv", "true", env=(("A=B", ""),)), "It cannot be started (illegal"),
        (ServerSettings("srv", "true"), "It ended, closed its output"),
        (ServerSettings("srv", url="http://127.0.0.1:1/"), "Nothing usable answers at"),
    ],
)
async def test_a_server_that_cannot_be_used_is_reported_and_the_others_go_on(server, problem):
    async with opened(odd("Failing"), server) as tools:
        assert (await call(tools)).text == "no such thing"
        assert report(tools).state == "failed"
        assert problem in report(tools).reason


@pytest.mark.parametrize("found", [None, ModuleType("mcp")], ids=["missing", "old"])
async def test_a_server_without_the_package_is_reported_with_the_command_for_it(found, monkeypatch):
    monkeypatch.delitem(sys.modules, "assistant.tools.session")
    monkeypatch.setitem(sys.modules, "mcp", found)
    async with opened(odd("Failing")) as tools:
        assert "pip install 'mcp>=" in report(tools).reason


class Web(BaseHTTPRequestHandler):
    """Answers as a server with one tool; `what` is a status, or where /old has moved to."""

    what = ""
    asked: ClassVar[list[str | None]] = []

    def do_POST(self):
        self.asked.append(self.headers["Authorization"])
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.what == "401":
            self.send_error(401)
        elif self.path == "/old":
            self.send_response(307)
            self.send_header("Location", self.what)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            self.answer(message)

    def answer(self, message):
        refusal = {"code": -32601, "message": f"You sent {self.headers['Authorization']}"}
        calls = message["method"] == "tools/call"
        reply = {"error": refusal} if calls else Server("").reply(message)
        response = {"jsonrpc": "2.0", "id": message.get("id"), **(reply or {})}
        content = json.dumps(response).encode() if "id" in message else b""
        content += b" " * (2_000_000 * (self.what == "huge"))
        self.send_response(200 if content else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        self.send_error(405)

    def log_message(self, *_):
        pass


@contextmanager
def web(what: str = "") -> Iterator[tuple[int, list[str | None]]]:
    class Handler(Web):
        asked: ClassVar[list[str | None]] = []

    Handler.what = what
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server.server_port, Handler.asked
        finally:
            server.shutdown()
            thread.join()


SECRET = (("Authorization", "Bearer open-sesame"),)


async def test_a_server_that_wants_a_token_says_where_it_goes():
    with web("401") as (port, asked):
        url = f"http://127.0.0.1:{port}/mcp"
        for headers in ((), SECRET):
            server = ServerSettings("web", url=url, headers=headers)
            async with opened(server) as tools:
                assert "its headers in config.toml" in report(tools).reason
        assert "sesame" not in f"{server!r} {report(tools)} {server.identity}"
    assert {*asked} == {None, SECRET[0][1]}


async def test_a_secret_that_a_server_repeats_is_hidden_and_one_that_dies_is_reported(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # nothing answers there
    with web() as (port, _):
        server = ServerSettings("web", url=f"http://127.0.0.1:{port}/", headers=SECRET)
        tools = ToolSet(ToolSettings(servers=(server,)))
        await tools.refresh()
        go = tools.offered["web__go"]
        assert (await call(tools, allowed=go)).text == "The server refused: You sent [secret]"
        assert "sesame" not in f"{report(tools)}"
    assert "does not run. Nothing usable answers" in (await call(tools, allowed=go)).text
    await tools.close()


async def test_a_response_that_is_too_long_is_not_parsed():
    with web("huge") as (port, _):
        async with opened(ServerSettings("web", url=f"http://127.0.0.1:{port}/")) as tools:
            assert "it sent a message of more than 2 MB" in report(tools).reason


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_redirect_elsewhere_is_not_followed(host):
    with web() as (other, asked), web(f"http://{host}:{other}/") as (port, first):
        server = ServerSettings("web", url=f"http://127.0.0.1:{port}/old", headers=SECRET)
        async with opened(server) as tools:
            assert report(tools).state == "failed"
    assert first
    assert not asked


@pytest.mark.parametrize(
    ("url", "is_told"),
    [
        ("https://Tools.lan:8443/x", True),
        ("http://tools.lan:8443/mcp", False),
        ("https://tools.lan/mcp", False),
        ("https://tools.lan.evil:8443/mcp", False),
    ],
)
async def test_headers_go_to_the_scheme_host_and_port_of_their_server_alone(url, is_told):
    import httpx2  # a second to load, in every worker

    from assistant.tools.session import _add_headers

    ours = "https://tools.lan:8443/mcp"
    server = ServerSettings("web", url=ours, allow_host="tools.lan", headers=SECRET)
    request = httpx2.Request("POST", url)
    await _add_headers(server, request)
    assert ("authorization" in request.headers) is is_told


async def test_offline_leaves_out_a_server_on_another_machine():
    server = ServerSettings("web", url="http://tools.lan/", allow_host="tools.lan")
    tools = ToolSet(ToolSettings(servers=(server,)), offline=True)
    await tools.refresh()
    assert tools.offered == {}
    assert "offline" in report(tools).reason
