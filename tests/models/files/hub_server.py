"""A server that stands in for the hub, with chosen faults."""

import hashlib
import json
import re
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

Fault = Callable[["Handler"], None]


class Hub:
    """Serve one file as the hub does: the hub's own address redirects to a store of blobs.

    `gets` and `answers`, those to questions about the repository, are faults that the next requests
    meet, in order; without one they succeed.
    """

    commit = "c0ffee" * 6 + "cafe"

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.sha256 = hashlib.sha256(data).hexdigest()
        self.size = len(data)
        self.gets: list[Fault] = []
        self.answers: list[Fault] = []
        self.described: Any = None  # what the hub says of the repository, if not the truth
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.released = Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Of", (Handler,), {"hub": self}))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def store(self) -> str:
        """Another origin, as the real store is."""
        return f"http://localhost:{self._server.server_port}/store/{self.sha256}"

    @property
    def ranges(self) -> list[str | None]:
        """What each request to the store asked for."""
        stored = (headers for path, headers in self.requests if path.startswith("/store/"))
        return [headers.get("range") for headers in stored]

    def truth(self, *names: str) -> dict[str, Any]:
        """Return what the hub says of its repository: its file, by all its names."""
        pointer = {"sha256": self.sha256, "size": self.size, "pointerSize": 1}
        files = [
            {"rfilename": name, "size": self.size, "lfs": pointer}
            for name in names or ("toy.gguf",)
        ]
        return {"id": "org/toy-GGUF", "sha": self.commit, "siblings": files, "tags": []}

    def __enter__(self) -> "Hub":
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


class Handler(BaseHTTPRequestHandler):
    """Answer as its hub would."""

    hub: Hub

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.hub.requests.append((self.path, headers))
        if self.path.startswith("/api/models/") and self.hub.answers:
            self.hub.answers.pop(0)(self)
        elif self.path.startswith("/api/models/org/toy-GGUF"):
            described = self.hub.truth() if self.hub.described is None else self.hub.described
            self.send_page(body=json.dumps(described).encode())
        elif self.path.startswith(f"/org/toy-GGUF/resolve/{self.hub.commit}/toy"):
            self._send_head(302, 0, Location=self.hub.store)
        elif not self.path.startswith("/store/"):
            self.send_page(404)
        elif self.hub.gets:
            self.hub.gets.pop(0)(self)
        else:
            self.send_file()

    def send_file(self, data: bytes | None = None, stop_after: int | None = None) -> None:
        """Send the file or the range asked for; after `stop_after` bytes cut the line."""
        data = self.hub.data if data is None else data
        span = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        begin = int(span[1]) if span else 0
        body = data[begin:]
        part = {"Content_Range": f"bytes {begin}-{len(data) - 1}/{len(data)}"} if begin else {}
        self._send_head(206 if begin else 200, len(body), **part)
        self.wfile.write(body[:stop_after])
        if stop_after is not None:
            self.close_connection = True

    def send_page(self, status: int = 200, body: bytes = b"<html>log in</html>") -> None:
        """Send something that is not the file."""
        self._send_head(status, len(body))
        self.wfile.write(body)

    def _send_head(self, status: int, length: int, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass
