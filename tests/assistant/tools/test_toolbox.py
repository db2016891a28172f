"""Servers that work, by their standard streams and by HTTP; addresses that are not contacted."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import ModuleType
from typing import ClassVar

import httpx2
import pytest

from assistant.tools import http_transport
from assistant.tools.http_transport import _Guard
from assistant.tools.limits import MESSAGE_BYTES
from assistant.tools.server_errors import ServerStopped
from assistant.tools.servers import ServerSettings
from assistant.tools.toolbox import Tools
from tests.assistant.tools.boxes import HERE, call, good, hostile, opened, report


async def test_a_server_is_started_when_it_is_needed_and_its_results_are_texts():
    tools = Tools([good()])
    assert report(tools).state == "off"
    offered = await tools.offered()
    assert offered == await tools.offered()
    names = ["good__add", "good__fail", "good__parts", "good__grow"]
    assert [each.tool.name for each in offered] == names
    assert [each.read_only for each in offered] == [True, False, False, False]
    assert (await call(tools, "good__add", '{"a": 1, "b": 2}')).text == "3"
    assert (await call(tools, "good__parts")).text == (
        "a text\n[image/png, 5 bytes, left out]\na note"
    )
    failed = await call(tools, "good__fail")
    assert failed.failed
    assert "Error executing tool fail" in failed.text
    await tools.close()
    assert (report(tools).state, report(tools).tools) == ("off", ())


async def test_tools_that_a_server_adds_are_offered_in_the_next_round():
    async with opened(good()) as tools:
        assert (await call(tools, "good__grow")).text == "done"
        assert "good__grown" in [each.tool.name for each in await tools.offered()]
        assert (await call(tools, "good__grown")).text == "grown"


async def test_a_server_gets_no_variables_but_the_usual_and_those_of_its_settings(monkeypatch):
    from assistant.tools.stdio_transport import INHERITED  # a second to load, in every worker

    monkeypatch.setenv("SECRET_TOKEN", "secret")
    server = replace(hostile("Environment"), env=(("OWN", "1"),))
    async with opened(server) as tools:
        names = set((await call(tools)).text.split())
    assert "OWN" in names
    assert names <= {"OWN", "LC_CTYPE", *INHERITED}  # Python itself may set LC_CTYPE


async def test_an_approval_is_for_a_command_and_all_that_its_server_says():
    one, other = hostile("Failing"), hostile("Failing", "argument")
    async with opened(one) as first, opened(one) as again, opened(other) as second:
        prints = [report(each).tools[0].fingerprint for each in (first, again, second)]
    assert prints[0] == prints[1] != prints[2]


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        (ServerSettings("srv", "no-such-program"), 'There is no program "no-such-program"'),
        (ServerSettings("srv", "true", cwd="/no/such/folder"), "There is no folder"),
        (ServerSettings("srv", "true"), "It ended by itself (exit code 0)"),
        (ServerSettings("srv", url="http://127.0.0.1:1/"), "Nothing usable answers at"),
    ],
)
async def test_a_server_that_cannot_be_used_is_reported_and_the_others_go_on(server, problem):
    async with opened(hostile("Failing"), server) as tools:
        assert (await call(tools)).text == "no such thing"
        assert report(tools).state == "failed"
        assert problem in report(tools).problem
        assert (await call(tools, "srv__go")).text == "There is no tool named srv__go."


async def test_of_two_servers_with_names_that_look_alike_the_second_is_refused():
    async with opened(hostile("Failing", name="web"), hostile("Failing", name="WEB")) as tools:
        assert len(await tools.offered()) == 1
        assert 'too like that of another server, "web"' in report(tools).problem


@pytest.mark.parametrize("found", [None, ModuleType("mcp")], ids=["missing", "old"])
async def test_without_the_package_a_server_is_reported_with_the_command_that_installs_it(
    found, monkeypatch
):
    monkeypatch.delitem(sys.modules, "assistant.tools.session")
    monkeypatch.setitem(sys.modules, "mcp", found)
    async with opened(hostile("Failing")) as tools:
        assert 'pip install "mcp' in report(tools).problem


@contextmanager
def listening() -> Iterator[int]:
    """A server of the official package, by HTTP."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, str(HERE / "good_server.py"), str(port)], stderr=subprocess.PIPE
    ) as process:
        assert process.stderr
        while b"running on" not in process.stderr.readline():
            assert process.poll() is None
        try:
            yield port
        finally:
            process.kill()


async def test_a_server_answers_by_http_and_one_that_dies_is_reported(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # nothing answers there
    with listening() as port:
        server = ServerSettings("web", url=f"http://127.0.0.1:{port}/mcp")
        tools = Tools([server])
        await tools.offered()
        assert report(tools).problem == ""
        assert (await call(tools, "web__add", '{"a": 1, "b": 2}')).text == "3"
    assert (await call(tools, "web__add", '{"a": 1, "b": 2}')).failed
    await tools.close()


class Web(BaseHTTPRequestHandler):
    """Answers as `what` says, and remembers who asked."""

    what = ""
    asked: ClassVar[list[str]] = []

    def do_POST(self):
        self.asked.append(self.headers["Authorization"] or self.headers["Host"])
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.what == "401":
            self.send_error(401)
            return
        if self.what == "streams":
            self.answer(json.loads(body))
            return
        if self.what.startswith("http"):
            self.send_response(307)
            self.send_header("Location", self.what)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if self.what == "gzip":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        for _ in range(MESSAGE_BYTES // 65536 + 2):
            self.wfile.write(b" " * 65536)

    def answer(self, message):
        """Answer as a server does that has one tool."""
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "go", "inputSchema": {"type": "object"}}]},
        }
        known = {"result": results.get(message["method"])}
        told = f"You sent {self.headers['Authorization']}"
        error = {"error": {"code": -32601, "message": told}}
        said = {"jsonrpc": "2.0", "id": message.get("id")} | (known if known["result"] else error)
        content = json.dumps(said).encode() if "id" in message else b""
        self.send_response(200 if content else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Mcp-Session-Id", "1")
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        """Begin a stream, and end it at once."""
        self.asked.append("GET")
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b"retry: 0\n\n")

    def log_message(self, *_):
        pass


class Quiet(ThreadingHTTPServer):
    def handle_error(self, *_):
        """Say nothing: the client hangs up."""


@contextmanager
def web(what: str = "") -> Iterator[tuple[int, list[str]]]:
    class Handler(Web):
        asked: ClassVar[list[str]] = []

    Handler.what = what
    with Quiet(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server.server_port, Handler.asked
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("what", "problem"), [("gzip", "It compresses what it sends"), ("", "a response without end")]
)
async def test_a_response_without_end_or_compressed_is_refused(what, problem):
    with web(what) as (port, _):
        async with opened(ServerSettings("web", url=f"http://127.0.0.1:{port}/")) as tools:
            assert problem in report(tools).problem


SECRET = (("Authorization", "Bearer open-sesame"),)


async def test_headers_go_to_the_address_of_their_server_alone_and_are_never_told():
    with web("401") as (port, ours), web("401") as (other, theirs):
        server = ServerSettings("web", url=f"http://127.0.0.1:{port}/mcp", headers=SECRET)
        async with opened(server) as tools:
            assert "does not accept the headers" in report(tools).problem
            assert {*ours} == {SECRET[0][1]}
            assert "sesame" not in f"{server!r} {report(tools)} {server.identity}"
        ours.clear()
        async with httpx2.AsyncClient(transport=_Guard(server)) as client:
            for host in (f"127.0.0.1:{other}", f"localhost:{port}", f"127.0.0.1:{port}"):
                with pytest.raises(ServerStopped):
                    await client.post(f"http://{host}/mcp")
    assert theirs == [f"127.0.0.1:{other}"]
    assert ours == [f"localhost:{port}", SECRET[0][1]]


async def test_a_secret_that_a_server_repeats_is_not_shown():
    with web("streams") as (port, _):
        server = ServerSettings("web", url=f"http://127.0.0.1:{port}/", headers=SECRET)
        async with opened(server) as tools:
            refused = await call(tools, "web__go")
            assert refused.text == "The server refused: You sent [secret]"
            assert "sesame" not in f"{report(tools)}"


async def test_a_server_that_wants_a_token_says_where_it_goes():
    with web("401") as (port, _):
        async with opened(ServerSettings("web", url=f"http://127.0.0.1:{port}/")) as tools:
            assert "give it a token with headers" in report(tools).problem


async def test_streams_that_end_at_once_are_not_opened_forever(monkeypatch):
    monkeypatch.setattr(http_transport, "STREAMS", 5)
    with web("streams") as (port, asked):
        async with opened(ServerSettings("web", url=f"http://127.0.0.1:{port}/")) as tools:
            assert [each.tool.name for each in report(tools).tools] == ["web__go"]
            while asked[-5:] != 5 * ["GET"]:
                await asyncio.sleep(0.01)
            for _ in range(20):
                await asyncio.sleep(0.01)
            assert report(tools).state == "ready"
    assert asked[-6] != "GET"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_redirect_elsewhere_is_not_followed(host):
    with web() as (other, asked), web(f"http://{host}:{other}/") as (port, first):
        async with opened(ServerSettings("web", url=f"http://127.0.0.1:{port}/")) as tools:
            assert report(tools).state == "failed"
    assert first
    assert not asked


async def test_a_foreign_host_is_not_even_looked_up(monkeypatch):
    """Whatever the settings' own check was, and wherever the address comes from."""
    tried = []
    monkeypatch.setattr(socket, "getaddrinfo", lambda *asked, **_: tried.append(asked))
    server = ServerSettings("web", url="http://tools.lan/", allow_host="tools.lan")
    object.__setattr__(server, "allow_host", "")
    async with opened(server) as tools:
        assert "It leads to tools.lan, which is not allowed." in report(tools).problem
    assert not tried


async def test_offline_leaves_out_a_server_on_another_machine():
    server = ServerSettings("web", url="http://tools.lan/", allow_host="tools.lan")
    tools = Tools([server], offline=True)
    assert await tools.offered() == ()
    assert "offline" in report(tools).problem
