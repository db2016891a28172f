"""The endpoint's guard: hosts, origins, oversized bodies and slow clients."""

import json
import socket
from contextlib import ExitStack, suppress
from http.client import HTTPResponse

import pytest

from assistant.serve import connection
from tests.assistant.serve.conftest import ORIGINS, Running
from tests.patience import WAIT_S

MODELS = b"GET /v1/models HTTP/1.1\r\n"
CHAT = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
OPTIONS = b"OPTIONS /v1/chat/completions HTTP/1.1\r\n"
JSON = b"Content-Type: application/json\r\n"


def response_to(running: Running, data: bytes) -> tuple[HTTPResponse, bytes]:
    """Send bytes, and no more; return the response and its body."""
    with running.connect() as client:
        with suppress(OSError):  # it need not read to the end what it refuses
            client.sendall(data)
        return response_of(client, data.partition(b" ")[0].decode("latin-1"))


def response_of(client: socket.socket, method: str = "GET") -> tuple[HTTPResponse, bytes]:
    response = HTTPResponse(client, method=method)
    response.begin()
    return response, response.read()


def status_of(client: socket.socket) -> int:
    return response_of(client)[0].status


HOSTS = {
    200: ("localhost", "127.0.0.1:80", "[::1]:80", "127.9.9.9"),
    403: ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "0.0.0.0",
          "evil.example@127.0.0.1", "127.0.0.1@evil.example", "[::1", "localhost#.evil.example",
          "localhost/"),
}  # fmt: skip
ORIGIN = "localhost\r\nOrigin: {}"
PAGES = {
    200: ("http://localhost:3000", "http://[::1]"),
    403: ("https://evil.example", "null", "http://localhost.evil.example", "file://", "",
          "http://evil.example@localhost", "http://localhost#.evil.example"),
}  # fmt: skip


@pytest.mark.parametrize("status", [200, 403])
def test_only_requests_that_name_this_machine_and_pages_of_it_are_answered(running, status) -> None:
    for host in (*HOSTS[status], *map(ORIGIN.format, PAGES[status])):
        response, _ = response_to(running, MODELS + f"Host: {host}\r\n\r\n".encode())
        assert response.status == status, host


PREFLIGHT = b"Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: x-a\r\n"


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_page_that_is_named_may_ask_and_read(running: Running, slow: Running, origin) -> None:
    sent = f"Host: localhost\r\nOrigin: {origin}\r\n".encode()
    preflight, models = OPTIONS + sent + PREFLIGHT + b"\r\n", MODELS + sent + b"\r\n"
    for server, data, status in (
        (running, models, 200), (slow, models, 401),
        (running, preflight, 200), (slow, preflight, 200),  # browsers send no token with this
    ):  # fmt: skip
        response, _ = response_to(server, data)
        assert response.status == status
        assert response.headers["access-control-allow-origin"] == origin
        assert data == models or response.headers["access-control-allow-headers"] == "x-a"


@pytest.mark.parametrize("origin", ["app://other.md", "http://localhost:3001", "null"])
def test_a_page_that_is_not_named_gets_no_permission(running: Running, origin) -> None:
    head = OPTIONS + f"Host: localhost\r\nOrigin: {origin}\r\n".encode() + PREFLIGHT
    response, body = response_to(running, head + b"\r\n")
    assert response.status == 403
    assert "allow_origins" in json.loads(body)["error"]["message"]
    assert "access-control-allow-origin" not in response.headers


def test_a_named_page_names_this_machine_as_all_do(running: Running) -> None:
    sent = b"Host: evil.example\r\nOrigin: app://obsidian.md\r\n"
    assert response_to(running, OPTIONS + sent + PREFLIGHT + b"\r\n")[0].status == 403


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /health", 200), (b"HEAD /v1/models", 200), (b"GET //models/", 200),
        (b"OPTIONS /v1//chat/completions", 204), (b"GET /v1/health", 200), (b"OPTIONS /v1/", 404),
        (b"GET http://localhost:1/v1/models", 200), (b"GET https://a:b@c/v1/health", 200),
    ],
)  # fmt: skip
def test_health_models_and_options_are_answered(running: Running, request_, status) -> None:
    response, _ = response_to(running, request_ + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert response.status == status
    assert (response.headers["allow"] == "POST") == (status == 204)


def test_a_body_may_begin_with_a_byte_order_mark(running: Running) -> None:
    body = '\ufeff{"messages": [{"role": "user", "content": "x"}], "max_tokens": 0}'.encode()
    head = CHAT + JSON + f"Content-Length: {len(body)}\r\n\r\n".encode()
    assert response_to(running, head + body)[0].status == 200


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"rubbish\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),  # somebody speaks TLS
        (b"GET /v1/models HTTP/1.1\r\n\r\n", 400),  # no Host
        (MODELS + b"Host: localhost\r\nHost: evil.example\r\n\r\n", 400),
        (MODELS + b"Host: x\r\nX: " + b"x" * 20 * connection.MAX_HEAD_BYTES + b"\r\n\r\n", 431),
        (CHAT + JSON + b"Content-Length: 9000000000000\r\n\r\n", 413),
        (CHAT + JSON + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (CHAT + JSON + b"Content-Length: 1\r\n\r\n{", 400),
        # the only way in which a page needs no permission
        (CHAT + b"Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415),
        (CHAT + JSON + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", 415),
        (CHAT + JSON + b"Content-Length: 2\r\n\r\n[]", 400),
        (CHAT + JSON + b"Content-Length: 4\r\n\r\n\xff\xfe\xff\xfe", 400),
        (CHAT + JSON + b"Content-Length: 100000\r\n\r\n" + b"[" * 100_000, 400),
        (b"PUT /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"GET /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /v1/models/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_an_invalid_request_is_refused_in_json(running: Running, data, status) -> None:
    response, body = response_to(running, data)
    assert response.status == status
    message = json.loads(body)["error"]["message"]
    assert message
    assert "GET" in message or not data.startswith(b"PUT")


@pytest.mark.parametrize("framing", [b"Content-Length: 9000000", b"Transfer-Encoding: chunked"])
def test_a_body_that_is_too_large_is_refused_readably(running: Running, framing) -> None:
    chunk = b"" if b"Length" in framing else b"895440\r\n"  # nine million
    body = chunk + b"x" * 9_000_000
    with running.connect() as client:
        client.sendall(CHAT + JSON + framing + b"\r\n\r\n" + body)  # all of it: nothing is reset
        assert status_of(client) == 413


def test_who_sends_nothing_is_not_waited_for(running: Running, monkeypatch) -> None:
    monkeypatch.setattr(connection, "TIMEOUT_S", 0.1)
    with running.connect() as idle:
        assert idle.recv(10) == b""
    # The head of a request may take its time here; what does not come is the body.
    monkeypatch.setattr(connection.Connection, "is_busy", True)
    with running.connect() as dawdling:
        dawdling.sendall(CHAT + JSON + b"Content-Length: 1\r\n\r\n")
        assert status_of(dawdling) == 408


def test_a_byte_after_the_answer_prolongs_no_connection(running: Running, monkeypatch) -> None:
    with running.connect() as client:
        client.sendall(MODELS + b"Host: localhost\r\n\r\n")
        assert status_of(client) == 200
        client.sendall(MODELS + b"Host: localhost\r\nContent-Length: 100\r\n\r\n")
        assert status_of(client) == 200
        monkeypatch.setattr(connection, "TIMEOUT_S", 0.1)
        with suppress(ConnectionError):
            client.sendall(b"x")
            assert client.recv(10) == b""


def test_the_connection_of_a_stranger_is_closed_with_the_refusal(slow: Running) -> None:
    with slow.connect() as stranger:
        stranger.sendall(CHAT + JSON + b"Content-Length: 100\r\n\r\n")
        assert response_of(stranger)[0].headers["connection"] == "close"
        assert stranger.recv(10) == b""


def test_clients_who_ask_for_nothing_keep_nobody_out(running: Running, monkeypatch) -> None:
    monkeypatch.setattr(connection, "MAX_CONNECTIONS", 3)
    monkeypatch.setattr(connection, "TIMEOUT_S", 2 * WAIT_S)  # else it would end an idle one
    with ExitStack() as stack:
        idle = [stack.enter_context(running.connect()) for _ in range(3)]
        for client in idle:
            client.sendall(MODELS)  # half a head
        assert response_to(running, MODELS + b"Host: localhost\r\n\r\n")[0].status == 200
        with suppress(ConnectionResetError):  # what it sent may not have been read
            assert idle[0].recv(10) == b""
