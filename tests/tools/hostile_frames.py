"""Whether hostile text slows the screen.

`python -m tests.tools.hostile_frames [--tokens N] [--turns N]` measures it.

An answer of ordinary words and one of texts that mean to command the terminal stream to the chat by
turns, at 100 tokens/s, the hostile ones cut into tokens anywhere. Printed are the gaps between
frames of each, and how many bytes got out that could command a terminal. It asserts nothing.
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path

from assistant.events import Token
from tests import tiny
from tests.hostile_texts import leaks, texts, valid
from tests.tools import frames


class Kept(frames.Terminal):
    """A terminal that keeps all that is written to it."""

    data: list[str] = []  # noqa: RUF012  # one terminal in a process

    def write(self, data: str) -> None:
        self.data.append(data)
        super().write(data)


class Gathering(frames.Measured):
    """The chat on such a terminal."""

    def __init__(self, course: frames.Course, model: Path) -> None:
        super().__init__(course, model)
        self.driver_class = Kept


def pieces(seed: int = 0) -> list[str]:
    """Return all two thousand hostile texts, each cut into tokens at random places."""
    dice, cut = random.Random(seed), []
    for text in map(valid, texts(2000)):
        at = 0
        while at < len(text):
            end = at + dice.choice((1, 2, 3, 5, 8))
            cut.append(text[at:end])
            at = end
    return cut


def once(kind: str, tokens: int) -> None:
    """Stream one answer in this process, and print what was measured."""
    if kind == "hostile":
        frames.WORDS = pieces()
        cut = cycle(frames.WORDS)
        frames._token = lambda rng, origin, source: Token(0, next(cut), origin, source, 0.5, 0.5)
    course = frames.Course(tokens, 0, 100.0, ghosts=True)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SPECCHAT_HOME"] = folder
        app = Gathering(course, tiny.write(Path(folder) / "tiny.gguf"))
        asyncio.run(app.run_async(size=(120, 40)))
    found = leaks("".join(Kept.data).encode("utf-8", "surrogatepass"))
    print(f"{kind:<8} {app.report}; {len(found)} leaks", flush=True)


def main() -> None:
    """Run both kinds by turns, each in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, prog="python -m tests.tools.hostile_frames"
    )
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--kind", choices=("plain", "hostile"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.kind:
        once(arguments.kind, arguments.tokens)
        return
    for _ in range(arguments.turns):
        for kind in ("plain", "hostile"):
            again = ["--tokens", str(arguments.tokens), "--kind", kind]
            subprocess.run([sys.executable, "-m", "tests.tools.hostile_frames", *again], check=True)
            time.sleep(1)


if __name__ == "__main__":
    main()
