"""What the engine's own process costs: `python -m tests.tools.boundary TARGET [ROUNDS [THREADS]]`.

The same short greedy answer comes by turns from an engine in this process and from one in a
separate process, both loaded all the while. It prints the ratio of their speeds, as the receiver
of the events sees them. A benchmark, not a test: it asserts nothing.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from statistics import median, quantiles
from time import perf_counter

from assistant.events import Decoded, Event, Failed, Finished, Ready
from assistant.process.engine_process import EngineProcess
from assistant.request import Message, Request, Sampling, Setup
from assistant.service import Service
from tests.asking import Asking, NearEngine

PROMPT = "Write a Python class for a stack with push, pop and peek, with docstrings."
TOKENS, ROUNDS = 24, 40


class Timed:
    """An engine and the times at which its events arrive."""

    def __init__(self, engine: Callable[[], Service], setup: Setup) -> None:
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._engine = Asking(engine, self._events.put)
        self._engine.submit(setup)
        self._until(Ready)
        self.close = self._engine.close

    def tokens_per_s(self) -> float:
        """Answer, and return the speed from the first token to the last."""
        prompt = (Message("user", PROMPT),)
        self._engine.submit(Request(prompt, Sampling(0), "ars", None, TOKENS, alternatives=5))
        self._until(Decoded)
        began, tokens = perf_counter(), 0
        while not isinstance(event := self._events.get(), Finished):
            assert not isinstance(event, Failed), event
            if isinstance(event, Decoded):
                tokens, ended = tokens + len(event.tokens), perf_counter()
        return tokens / (ended - began)

    def _until(self, kind: type) -> None:
        while not isinstance(event := self._events.get(), kind):
            assert not isinstance(event, Failed), event


def main() -> None:
    """Measure in turns, the first of a pair changing, and print the ratio."""
    target, *rest = sys.argv[1:]
    rounds = int(rest[0]) if rest else ROUNDS
    threads = int(rest[1]) if len(rest) > 1 else None
    setup = Setup(Path(target), None, n_ctx=1024, threads=threads, measure=False)
    inside, beyond = Timed(NearEngine, setup), Timed(EngineProcess, setup)
    for each in (inside, beyond):
        each.tokens_per_s()  # reads the prompt
    pairs = []
    for number in range(rounds):
        if number % 2:
            ours = inside.tokens_per_s()
            pairs.append((ours, beyond.tokens_per_s()))
        else:
            theirs = beyond.tokens_per_s()
            pairs.append((inside.tokens_per_s(), theirs))
    inside.close()
    beyond.close()
    ratios = [b / a for a, b in pairs]
    low, _, high = quantiles(ratios, n=4)
    print(
        f"in this process {median(a for a, _ in pairs):.2f} tokens/s, in its own "
        f"{median(b for _, b in pairs):.2f}; ratio {median(ratios):.4f} "
        f"(quartiles {low:.4f} and {high:.4f}, {len(pairs)} pairs of {TOKENS} tokens)"
    )


if __name__ == "__main__":
    main()
