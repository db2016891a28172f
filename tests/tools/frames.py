"""How smoothly an answer streams: time between frames, and the share of a core that they cost.

`python -m tests.tools.frames` feeds synthetic rounds to the chat at 100 tokens/s, from another
thread, as the engine does, until an answer has 5,000 tokens; it is shown, counted and kept on disk.
A frame is what is written to the terminal. With --hostile the words are texts that mean to command
the terminal, cut into tokens anywhere, and what got out is counted, too.
A benchmark, not a test: it asserts nothing.
"""

import argparse
import asyncio
import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle, pairwise
from pathlib import Path

from textual.drivers.headless_driver import HeadlessDriver

from assistant.events import (
    Decoded,
    Event,
    Finished,
    Forecast,
    Ghost,
    Origin,
    Prepared,
    Reason,
    Stats,
    Stop,
    Token,
)
from assistant.request import AnyJob, Request
from assistant.service import EventStream
from assistant.settings.settings import Settings
from assistant.tokens import Step
from tests import tiny
from tests.hostile_texts import leaks, texts, valid
from tests.tui.race.race_recorded import Recorded, ready
from tui.app.app import SpecchatApp

TEXT = "the draft proposes some tokens, one batch of the target tests them all\n at once,"
WORDS = TEXT.split(" ")
SOURCES = ("model", "suffix", "ngram")
MOST = 8
TOKENS, SPEED, SIZE = 5000, 100, (120, 40)
"""Of the answer, in a second, and of the terminal."""


class Terminal(HeadlessDriver):
    """A terminal that notes what is written to it, and when."""

    written: list[tuple[float, str]] = []  # noqa: RUF012  # one terminal in a process

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        self.written.append((time.perf_counter(), data))


def words() -> Iterator[str]:
    """Yield ordinary words forever."""
    dice = random.Random(0)
    while True:
        yield dice.choice(WORDS) + " "


def pieces() -> Iterator[str]:
    """Yield all two thousand hostile texts again and again, in pieces."""
    dice = random.Random(0)
    for text in cycle(map(valid, texts(2000))):
        left = text
        while left:
            size = dice.choice((1, 2, 3, 5, 8))
            yield left[:size]
            left = left[size:]


def steps(tokens: int, texts: Iterator[str]) -> Iterator[Step]:
    """Yield rounds of 1 to 8 tokens with these texts, until there are so many."""
    rng = random.Random(0)
    while tokens > 0:
        count = min(tokens, rng.randint(1, MOST))
        source = rng.choice(SOURCES)
        rejected = count < MOST
        last = Origin.RESIDUAL if rejected else Origin.TARGET
        origins = [*[Origin.DRAFT] * (count - 1), last]
        accepted = tuple(Token(0, next(texts), each, source, 0.5, 0.5) for each in origins)
        ghosts = (Ghost(0, next(texts), source, count - 1, 0.5, 0.1, 0.9),)
        yield Step(accepted, ghosts if rejected else ())
        tokens -= count


class Feeder(Recorded):
    """An engine whose answer comes at a steady pace, from a thread of its own."""

    course: argparse.Namespace  # what is to be measured: the options of `main`

    def do(self, job: AnyJob) -> EventStream:
        if not isinstance(job, Request):
            return super().do(job)
        stream = EventStream(job, lambda *_: None)
        loop = asyncio.get_running_loop()

        def put(event: object, last: bool = False) -> None:
            loop.call_soon_threadsafe(stream.put, event, last)

        threading.Thread(target=self._feed, args=[put]).start()
        return stream

    def said(self, job: AnyJob) -> Iterator[Event]:
        yield ready(True)

    def _feed(self, put: Callable[..., object]) -> None:
        """Emit a round every so often: rounds take about as long, whatever comes out of them."""
        put(Prepared(20, 0, 0))
        said, due = Said(), time.perf_counter()
        for step in steps(TOKENS, pieces() if self.course.hostile else words()):
            due += (MOST + 1) / 2 / SPEED
            time.sleep(max(0.0, due - time.perf_counter()))
            put(said.more(step))
        put(Finished("", (), Stop.LENGTH, said.stats), True)


class Said:
    """The figures of an answer as it grows."""

    def __init__(self) -> None:
        self.stats = Stats("sps", prompt_tokens=20)
        self._began = time.perf_counter()

    def more(self, step: Step) -> Decoded:
        stats, k = self.stats, len(step.tokens) - 1 + len(step.ghosts)
        self.stats = replace(
            stats,
            rounds=stats.rounds + 1,
            tested=stats.tested + k,
            accepted=stats.accepted + len(step.tokens) - 1,
            generated_tokens=stats.generated_tokens + len(step.tokens),
            decode_s=time.perf_counter() - self._began,
        )
        used = 20 + self.stats.generated_tokens
        forecast = Forecast(Reason.LIKELY, 1.5, 0.02)
        return Decoded(step.tokens, step.ghosts, k, used, self.stats, forecast)


class Measured(SpecchatApp):
    """The chat, while such an answer comes."""

    report = ""

    def __init__(self, course: argparse.Namespace, model: Path) -> None:
        Feeder.course = course
        settings = Settings(str(model), str(model), mode="sps", ghosts=course.ghosts, save=True)
        super().__init__(settings, engine=Feeder)
        self.driver_class = Terminal

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(self._measure())

    async def _measure(self) -> None:
        while not (self.chat.controller.models.ready and self.chat.autosave.begun):
            await asyncio.sleep(0.05)
        self.chat.controller.say("What is speculative sampling?", ())
        await asyncio.sleep(1)
        Terminal.written.clear()
        began, used = time.perf_counter(), time.thread_time()
        while not self.chat.talk.idle:
            await asyncio.sleep(0.5)
        share = (time.thread_time() - used) / (time.perf_counter() - began)
        self.report = describe([at for at, _ in Terminal.written], share)
        if Feeder.course.hostile:
            data = "".join(data for _, data in Terminal.written)
            self.report += f"; {len(leaks(data.encode('utf-8', 'surrogatepass')))} leaks"
        self.exit()


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
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.tools.frames")
    parser.add_argument("--ghosts", action="store_true", help="show rejected drafts")
    parser.add_argument("--hostile", action="store_true", help="stream hostile texts")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SPECCHAT_HOME"] = folder
        app = Measured(args, tiny.write(Path(folder) / "tiny.gguf"))
        asyncio.run(app.run_async(size=SIZE))
    print(f"{TOKENS} tokens at {SPEED}/s: {app.report}")


if __name__ == "__main__":
    main()
