"""What the chat's screen costs the decoder: `python -m tests.tools.beside TARGET [DRAFT]`.

The same greedy answer comes by turns without a screen and in the chat, from an engine in a separate
process each time. It prints tokens per second and their ratio. It asserts nothing.
"""

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from queue import SimpleQueue
from statistics import median

from assistant.events import Event, Failed, Finished
from assistant.process.engine_process import EngineProcess
from assistant.request import Message, Mode, Request, Sampling, Setup
from tests.asking import Asking
from tests.tools.frames import Terminal
from tui.app.app import SpecchatApp
from tui.settings.settings import Settings

PROMPT = "Write a Python class for a stack with push, pop and peek, with docstrings."
TOKENS, TURNS, N_CTX = 96, 4, 2048


def alone(target: Path, draft: Path | None) -> float:
    """Return the tokens per second of an answer that nobody shows."""
    events: SimpleQueue[Event] = SimpleQueue()
    engine = Asking(EngineProcess, events.put)
    engine.submit(Setup(target, draft, N_CTX, measure=False))
    question = (Message("user", PROMPT),)
    mode: Mode = "sps" if draft else "ars"
    engine.submit(Request(question, Sampling(0), mode, 3, TOKENS, alternatives=5))
    while not isinstance(event := events.get(), Finished):
        assert not isinstance(event, Failed), event
    engine.close()
    return event.stats.tokens_per_s


class Shown(SpecchatApp):
    """The chat, which asks and leaves by itself."""

    speed = 0.0

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.driver_class = Terminal

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(self._ask())

    async def _ask(self) -> None:
        while not (self.chat.controller.ready and self.chat.autosave.begun):
            await asyncio.sleep(0.1)
        self.chat.controller.say(PROMPT, ())
        while self.chat.controller.busy:
            await asyncio.sleep(0.1)
        stats = self.chat.talk.path.records[-1].stats
        assert stats is not None
        self.speed = stats.tokens_per_s
        self.exit()


def shown(target: Path, draft: Path | None) -> float:
    """Return the tokens per second of an answer in the chat."""
    settings = Settings(
        str(target),
        str(draft) if draft else "none",
        "sps" if draft else "ars",
        3,
        temperature=0,
        max_tokens=TOKENS,
        n_ctx=N_CTX,
    )
    with tempfile.TemporaryDirectory() as home:
        os.environ["SPECCHAT_HOME"] = home
        app = Shown(settings)
        asyncio.run(app.run_async(size=(120, 40)))
    return app.speed


def main() -> None:
    target, *rest = map(Path, sys.argv[1:])
    draft = rest[0] if rest else None
    pairs = [(alone(target, draft), shown(target, draft)) for _ in range(TURNS)]
    for without, with_screen in pairs:
        print(f"{without:.2f} {with_screen:.2f} {with_screen / without:.3f}")
    ratio = median(b / a for a, b in pairs)
    print(f"in the chat / without a screen: {ratio:.3f} (median of {TURNS})")


if __name__ == "__main__":
    main()
