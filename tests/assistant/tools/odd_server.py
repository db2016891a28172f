"""An MCP server with one fault: `odd_server.py CASE [ARGUMENT]`. See `CASES` at the end.

It speaks the protocol by hand, so that it can break it, and starts at once.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

SCHEMA = {"type": "object", "properties": {}}
OUT = sys.stdout.buffer


def send(message):
    OUT.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    OUT.flush()


def tool(name, description="does it", schema=SCHEMA, **more):
    return {"name": name, "description": description, "inputSchema": schema, **more}


def text_result(text, **more):
    return {"content": [{"type": "text", "text": text}], **more}


class Server:
    protocol = "2025-06-18"

    def __init__(self, argument):
        self.argument = argument

    def begin(self):
        pass

    def tools(self, cursor):
        return {"tools": [tool("go")]}

    def call(self):
        return text_result("done")

    def cancelled(self):
        pass

    def reply(self, message):
        """Return the result or the error of a request; None if there is none, or it was sent."""
        method, result = message.get("method"), None
        if method == "initialize":
            result = {
                "protocolVersion": self.protocol,
                "capabilities": {} if type(self) is Toolless else {"tools": {}},
                "serverInfo": {"name": "odd", "version": "1"},
            }
        elif method == "tools/list":
            result = self.tools((message.get("params") or {}).get("cursor"))
        elif method == "tools/call":
            result = self.call()
        elif method == "notifications/cancelled":
            self.cancelled()
        elif method and "id" in message:
            return {"error": {"code": -32601, "message": "Method not found"}}
        return None if result is None else {"result": result}

    def serve(self):
        self.begin()
        for self.line in sys.stdin:
            message = json.loads(self.line)
            if reply := self.reply(message):
                send({"id": message["id"], **reply})


class Future(Server):
    protocol = "2099-01-01"


class Failing(Server):
    def call(self):
        return text_result("no such thing", isError=True)


class Parts(Server):
    """Returns a text, an image and a resource, or a structure, and says that it changes nothing."""

    def tools(self, cursor):
        return {"tools": [tool("go", annotations={"readOnlyHint": True}), tool("other")]}

    def call(self):
        if '"other"' in self.line:
            return text_result("", structuredContent={"degrees": 20})
        image = {"type": "image", "mimeType": "image/png", "data": "MTIzNDU="}
        resource = {"type": "resource", "resource": {"uri": "note://1", "text": "a note"}}
        return {"content": [{"type": "text", "text": "a text"}, image, resource]}


class Unusable(Server):
    def tools(self, cursor):
        names = ("read_file", "read_f\u0456le", "read.file", "read_file", "a" * 100)
        wide = {"type": "object", "properties": {f"p{i}": {} for i in range(5000)}}
        more = (tool("long", "a" * 1_000_000), tool("wide", schema=wide))
        if self.argument:
            icon = tool("icon", icons=7, outputSchema=[])  # it needs neither
            return {"tools": [icon, tool("untyped", schema={}), tool(7), "none"]}
        return {"tools": [*(tool(name, f"{i}") for i, name in enumerate(names)), *more]}


class Pages(Server):
    def tools(self, cursor):
        page = int(cursor or 0)
        return {"tools": [tool(f"t{page}")]} | ({"nextCursor": f"{page + 1}"} if page < 30 else {})


class EndlessPages(Server):
    def tools(self, cursor):
        return {"tools": [], "nextCursor": f"{cursor or 0}1"[-9:]}


class Revising(Server):
    """Says other things of its tool after each call, and counts how often it is asked."""

    version, lists = 1, 0

    def tools(self, cursor):
        self.lists += 1
        Path(self.argument).write_text(str(self.lists))
        return {"tools": [tool("go", f"version {self.version}")]}

    def call(self):
        self.version += 1
        return text_result("done")


class Unlisting(Server):
    """Lists its tools once."""

    listed = False

    def tools(self, cursor):
        if not self.listed:
            self.listed = True
            return super().tools(cursor)
        if self.argument == "hangs":
            time.sleep(10_000)
        if self.argument == "ends":
            os._exit(3)
        send({"id": json.loads(self.line)["id"], "error": {"code": -32000, "message": "Why?"}})
        return None


class Dying(Server):
    def call(self):
        sys.stderr.write("I am going\n")
        sys.stderr.flush()
        os._exit(3)


class Hanging(Server):
    def call(self):
        Path(self.argument).write_text("called")
        time.sleep(10_000)


class Waiting(Server):
    """Answers no call, and writes down that one was cancelled."""

    def call(self):
        Path(self.argument).write_text("called")

    def cancelled(self):
        Path(self.argument).write_text("cancelled")


class Silent(Server):
    def begin(self):
        time.sleep(10_000)


class Echoing(Server):
    """Says that it was called, and says what a request holds."""

    def call(self):
        return text_result(self.line)


class Environment(Server):
    """Returns the names of its variables."""

    def call(self):
        return text_result(" ".join(os.environ))


class Toolless(Server):
    def tools(self, cursor):
        os._exit(4)


class Complaining(Server):
    def begin(self):
        sys.stderr.buffer.write(b"\xff\x00" * 1_000_000 + b"the end\n")
        sys.stderr.flush()


class Asking(Server):
    """Asks for a sample, for folders and for input, and returns what it got."""

    def call(self):
        message = {"role": "user", "content": {"type": "text", "text": "hi"}}
        asked = {
            "sampling/createMessage": {"messages": [message], "maxTokens": 5},
            "roots/list": {},
            "elicitation/create": {"message": "password?", "requestedSchema": SCHEMA},
        }
        got = []
        for number, (method, params) in enumerate(asked.items(), 900):
            send({"id": number, "method": method, "params": params})
            answer = json.loads(sys.stdin.readline())
            got.append("refused" if "error" in answer else str(answer))
        return text_result(" ".join(got))


class Flooding(Server):
    """Sends requests, and reads no answer before the last is sent."""

    def call(self):
        names = [f"{number:02000}" for number in range(int(self.argument))]
        request = '{"jsonrpc": "2.0", "id": "%s", "method": "ping"}\n'
        OUT.write("".join(request % name for name in names).encode())
        OUT.flush()
        got = [json.loads(sys.stdin.readline())["id"] for _ in names]
        return text_result("in order" if got == names else "mixed")


class Detaching(Server):
    """Starts a process that leaves its session, by a parent that exits; itself exits if asked.

    The process writes its number, and ignores the polite signal.
    """

    CODE = (
        "import os, signal, sys, time; os.fork() and os._exit(0); os.setsid();"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "open(sys.argv[1], 'w').write(f'{os.getpid()}\\n'); time.sleep(300)"
    )

    def call(self):
        file, _, ends = self.argument.partition(" ")
        subprocess.run([sys.executable, "-S", "-c", self.CODE, file], stdout=subprocess.DEVNULL)
        while not (Path(file).exists() and Path(file).read_text().endswith("\n")):
            time.sleep(0.01)
        if ends:
            os._exit(3)
        return text_result("done")


class Huge(Server):
    """Sends more than is read: in one piece, in many parts, without an end, or as a list."""

    def tools(self, cursor):
        count = 1_001 if self.argument == "tools" else 1
        return {"tools": [tool(f"go{i}" if i else "go") for i in range(count)]}

    def call(self):
        if self.argument == "parts":
            return {"content": 300_000 * text_result("")["content"]}
        if self.argument == "text":
            return text_result("a" * 3_000_000)
        while True:
            OUT.write(b"a" * 65_536)


CASES = {each.__name__: each for each in Server.__subclasses__()}

if __name__ == "__main__":
    CASES[sys.argv[1]](" ".join(sys.argv[2:])).serve()
