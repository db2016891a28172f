"""How smoothly an answer streams: time between frames, and the share of a core that they cost.

`python -m tests.frames` feeds synthetic rounds to the conversation at 100 tokens/s, from another
thread, as the engine does, until an answer has 5,000 tokens. A frame is what is written to the
terminal. A benchmark, not a test: it asserts nothing.
"""

import argparse
import asyncio
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from textual.app import App, ComposeResult
from textual.drivers.headless_driver import HeadlessDriver
from textual.message import Message

from assistant.events import Ghost, Origin, Token
from assistant.trace import Step
from tui.widgets.conversation import Conversation

TEXT = "the draft proposes some tokens, one batch of the target tests them all\n at once,"
WORDS = TEXT.split(" ")
SOURCES = ("model", "suffix", "ngram")
MOST = 8


class Terminal(HeadlessDriver):
    """A terminal that notes when it is written to."""

    written: list[tuple[float, int]] = []  # noqa: RUF012  # one terminal in a process

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        self.written.append((time.perf_counter(), len(data)))


def steps(tokens: int, seed: int = 0) -> Iterator[Step]:
    """Yield rounds of 1 to 8 tokens, until there are so many."""
    rng = random.Random(seed)
    while tokens > 0:
        count = min(tokens, rng.randint(1, MOST))
        source = rng.choice(SOURCES)
        accepted = [_token(rng, Origin.DRAFT, source) for _ in range(count - 1)]
        rejected = count < MOST
        last = _token(rng, Origin.RESIDUAL if rejected else Origin.TARGET, source)
        ghosts = (Ghost(0, rng.choice(WORDS), source, count - 1, 0.5, 0.1, 0.9),)
        yield Step((*accepted, last), ghosts if rejected else ())
        tokens -= count


def _token(rng: random.Random, origin: Origin, source: str) -> Token:
    return Token(0, rng.choice(WORDS) + " ", origin, source, 0.5, 0.5)


@dataclass
class Course:
    """What is to be measured."""

    tokens: int
    before: int  # tokens that the answer has already
    speed: float  # tokens a second
    ghosts: bool


@dataclass
class Round(Message):
    """The engine's thread has a round; None after the last."""

    step: Step | None


class Page(App[None]):
    """A conversation into which an answer streams."""

    def __init__(self, course: Course) -> None:
        super().__init__(driver_class=Terminal)
        self.course = course
        self.report = ""

    def compose(self) -> ComposeResult:
        yield Conversation()

    def on_mount(self) -> None:
        view = self.query_one(Conversation)
        view.ghosts = self.course.ghosts
        view.ask("What is speculative sampling?")
        self.answer = view.begin("target")
        self.over = asyncio.Event()
        self.run_worker(self._measure())

    def on_round(self, message: Round) -> None:
        if message.step is None:
            self.over.set()
        else:
            self.answer.add(message.step)

    async def _measure(self) -> None:
        for step in steps(self.course.before, seed=1):
            self.answer.add(step)
        await asyncio.sleep(1)
        Terminal.written.clear()
        threading.Thread(target=self._feed).start()
        began, used = time.perf_counter(), time.thread_time()
        await self.over.wait()
        share = (time.thread_time() - used) / (time.perf_counter() - began)
        self.report = describe([at for at, length in Terminal.written if length > 50], share)
        self.exit()

    def _feed(self) -> None:
        """Add a round every so often: rounds take about as long, whatever comes out of them."""
        due = time.perf_counter()
        for step in steps(self.course.tokens):
            due += (MOST + 1) / 2 / self.course.speed
            time.sleep(max(0.0, due - time.perf_counter()))
            self.post_message(Round(step))
        self.post_message(Round(None))


def describe(moments: list[float], share: float) -> str:
    """Return the quantiles of the gaps in ms, and the share in per cent."""
    gaps = sorted((after - before) * 1e3 for before, after in pairwise(moments))
    middle, high = gaps[len(gaps) // 2], gaps[int(len(gaps) * 0.95)]
    return (
        f"{len(moments)} frames; gap p50 {middle:.1f} ms, p95 {high:.1f} ms, "
        f"max {gaps[-1]:.1f} ms; UI thread {share:.1%} of one core"
    )


def main() -> None:
    """Measure and say what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.frames")
    parser.add_argument("--tokens", type=int, default=5000, help="tokens of the answer at its end")
    parser.add_argument("--before", type=int, default=0, help="of which are there at the start")
    parser.add_argument("--speed", type=float, default=100.0, help="tokens a second")
    parser.add_argument("--size", default="120x40", help="of the terminal")
    parser.add_argument("--ghosts", action="store_true", help="show rejected drafts")
    args = parser.parse_args()
    width, height = map(int, args.size.split("x"))
    page = Page(Course(args.tokens - args.before, args.before, args.speed, args.ghosts))
    asyncio.run(page.run_async(size=(width, height)))
    print(
        f"{args.size}, {args.before} to {args.tokens} tokens at {args.speed:.0f}/s: {page.report}"
    )


if __name__ == "__main__":
    main()
