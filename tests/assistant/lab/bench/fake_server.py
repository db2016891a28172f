"""A program that answers as llama.cpp's server does, so far as a benchmark asks."""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar


class Handler(BaseHTTPRequestHandler):
    options: ClassVar[dict[str, str]] = {}

    def do_GET(self):
        self.respond({"status": "ok"})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        drafts = asked.get("speculative.n_max") if "-md" in self.options else 0
        timings = {
            "prompt_n": 7,
            "prompt_ms": 50.0,
            "predicted_n": asked["n_predict"],
            "predicted_ms": 10.0 * asked["n_predict"],
        }
        if drafts:
            timings |= {"draft_n": 9, "draft_n_accepted": 6}
        told = {"content": json.dumps([asked, self.options]), "stop_type": "limit"}
        self.respond(told if "Tell no timings" in asked["prompt"] else told | {"timings": timings})

    def respond(self, value):
        content = json.dumps(value).encode()
        self.send_response(500 if "Break" in str(value) else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


OLDER = "--draft-max, --draft, --draft-n N"
NEWER = "--spec-draft-n-max N\n--spec-type none,draft-simple,ngram-simple"

if __name__ == "__main__":
    if "--help" in sys.argv:
        sys.exit(print(NEWER if "newer" in sys.argv[1] else OLDER))
    Handler.options = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=False))
    if "broken" in Handler.options["-m"]:
        sys.exit("error: unable to load model")
    HTTPServer((Handler.options["--host"], int(Handler.options["--port"])), Handler).serve_forever()
