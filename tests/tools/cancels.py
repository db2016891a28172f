"""How soon an answer stops when it is told to: `python -m tests.tools.cancels TARGET DRAFT`.

Answers are cancelled at random moments while the prompt is read, while the target decodes alone and
while the draft is at work, through the same process boundary as in the chat. It prints the time
from the key to the end of the answer, whether its text was kept, and whether the next prompt is
answered as ever. COUNT and THREADS may follow. A benchmark, not a test: it asserts nothing.
"""

import random
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from time import perf_counter, sleep

from assistant.events import Decoded, Event, Failed, Finished, Prefilled, Ready, Stop
from assistant.process.engine_process import EngineProcess
from assistant.request import Message, Mode, Request, Sampling, Setup
from tests.asking import Asking

COUNT, LONG, SPAN_S = 100, 1500, 3.0
CHECK = "Name the capital of France."
WHY = "Explain at length why the sky is blue and sunsets are red."
Said = tuple[float, bool, bool]
"""Seconds until it ended, whether its text was kept, whether it was really cut."""


class Canceller:
    """An engine whose answers are cut."""

    def __init__(self, target: Path, draft: Path, threads: int | None) -> None:
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._engine = Asking(EngineProcess, self._events.put)
        self._engine.submit(Setup(target, draft, n_ctx=2048, threads=threads, measure=False))
        while not isinstance(self._heard(), Ready):
            pass
        self._dice = random.Random(0)
        self.usual = self.answer()

    def answer(self) -> str:
        """Return what the model says to a short question."""
        self._ask(CHECK, "ars", most=8)
        while not isinstance(event := self._heard(), Finished):
            pass
        return event.text

    def reading(self, number: int) -> Said:
        """Cancel while a prompt is read that has nothing in common with those before."""
        words = " ".join(f"word{self._dice.randrange(10)}" for _ in range(LONG // 3))
        self._ask(f"{number} {words}", "sps")
        while not isinstance(self._heard(), Prefilled):
            pass
        return self._cut()

    def decoding(self, number: int) -> Said:
        """Cancel while the target decodes alone."""
        self._ask(f"{WHY} ({number})", "ars")
        return self._cut(self._begun())

    def drafting(self, number: int) -> Said:
        """Cancel while draft and target take turns; with so large a lookahead, mostly the draft."""
        self._ask(f"{WHY} ({number})", "sps", lookahead=15)
        return self._cut(self._begun())

    def close(self) -> None:
        """End the process."""
        self._engine.close()

    def _ask(self, text: str, mode: Mode, lookahead: int = 3, most: int = 1000) -> None:
        prompt = (Message("user", text),)
        self._engine.submit(Request(prompt, Sampling(0), mode, lookahead, most, alternatives=5))

    def _cut(self, *heard: Decoded) -> Said:
        sleep(self._dice.uniform(0, SPAN_S))
        seen = list(heard)
        while not self._events.empty():
            if isinstance(event := self._events.get(), Decoded):
                seen.append(event)
        began = perf_counter()
        self._engine.cancel()
        while not isinstance(event := self._heard(), Finished):
            if isinstance(event, Decoded):
                seen.append(event)
        took = perf_counter() - began
        text = "".join(token.text for each in seen for token in each.tokens)
        return took, event.text.startswith(text), event.stop is Stop.CANCELLED

    def _begun(self) -> Decoded:
        while not isinstance(event := self._heard(), Decoded):
            pass
        return event

    def _heard(self) -> Event:
        event = self._events.get()
        assert not isinstance(event, Failed), event
        return event


def describe(name: str, taken: list[float]) -> str:
    """Return the quantiles in ms."""
    ordered = sorted(1e3 * took for took in taken)
    high = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    return (
        f"{name:<10} {len(ordered):>4} cancels: median {median(ordered):.0f} ms, "
        f"p95 {high:.0f} ms, max {ordered[-1]:.0f} ms"
    )


def main() -> None:
    """Cancel, and print a line for each kind of moment; Ctrl-C prints those so far."""
    target, draft, *rest = sys.argv[1:]
    count = int(rest[0]) if rest else COUNT
    canceller = Canceller(Path(target), Path(draft), int(rest[1]) if len(rest) > 1 else None)
    kinds: tuple[Callable[[int], Said], ...] = (
        canceller.reading, canceller.decoding, canceller.drafting
    )  # fmt: skip
    said: list[tuple[str, Said]] = []
    alike = 0
    with suppress(KeyboardInterrupt):
        for number in range(count):
            kind = kinds[number % len(kinds)]
            said.append((kind.__name__, outcome := kind(number)))
            alike += canceller.answer() == canceller.usual
            print(f"{number + 1:>4} {kind.__name__:<10} {1e3 * outcome[0]:.0f} ms", flush=True)
    canceller.close()
    for each in kinds:
        print(describe(each.__name__, [took for name, (took, *_) in said if name == each.__name__]))
    print(describe("all", [took for _, (took, *_) in said]))
    kept, cut = (sum(outcome[at] for _, outcome in said) for at in (1, 2))
    print(f"cut {cut} of {len(said)}, text kept {kept}, next prompt answered as ever {alike}")


if __name__ == "__main__":
    main()
