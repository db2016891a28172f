"""How fast a pair answers in each mode, as ratios: `python -m tests.measure TARGET DRAFT`.

Every mode answers every prompt at temperature 0, from cold caches, the modes in turn, so that a
slow moment of the machine hits them all alike. `specchat models list` names the models.
"""

import sys
from statistics import median

from assistant.control import Control
from assistant.events import Finished, Stats
from assistant.loading import Loader, Pool
from assistant.request import Message, Mode, Request, Setup
from assistant.warp import Sampling
from models.files.check import ready

TOKENS, REPETITIONS = 64, 2
MODES: tuple[tuple[Mode, int | None], ...] = (
    ("ars", None), ("sps", 1), ("sps", 3), ("sps", 7), ("sps", 15), ("auto", None),
)  # fmt: skip
STORM = (
    "The storm came over the hills at noon. Nobody in the village had seen such a storm before. "
    "The baker closed his shop, the miller tied his sails, and the children were called in from "
    "the orchard. When the storm reached the river, the old bridge began to sing in the wind."
)
PROMPTS = {
    "code": "Write a Python function that says whether two numbers of a list are closer to each "
    "other than a threshold. Code only.",
    "chat": "Explain to a curious teenager why the sky is blue and sunsets are red.",
    "copy": f'Rewrite this text, changing "storm" to "gale" and nothing else:\n\n{STORM}',
}


def measure(target: str, draft: str) -> None:
    """Print a line for each prompt."""
    setup = Setup(ready(target), ready(draft), n_ctx=2048)
    loader = Loader(setup, Control(), lambda event: None, Pool())
    assistant, about = loader.load()
    if assistant.drafter is None:
        sys.exit(f"{about.no_draft}")

    models = (assistant.target, assistant.drafter.model)

    def answer(prompt: str, mode: Mode, lookahead: int | None) -> Stats:
        for model in models:
            model.logits([0])  # forgets the prompt
        request = Request(
            (Message("user", prompt),), Sampling(0), mode, lookahead, max_tokens=TOKENS
        )
        *_, last = assistant.reply(request, Control(mode, lookahead))
        assert isinstance(last, Finished)
        return last.stats

    for name, prompt in PROMPTS.items():
        turns = [[answer(prompt, *mode) for mode in MODES] for _ in range(REPETITIONS)]
        speeds = [
            median(stats.tokens_per_s for stats in column) for column in zip(*turns, strict=True)
        ]
        cells = [
            f"{mode}{lookahead or ''} {speed / speeds[0]:.2f} ({stats.tokens_per_eval:.1f})"
            for (mode, lookahead), speed, stats in zip(MODES, speeds, turns[0], strict=True)
        ]
        print(f"{name}: ars {speeds[0]:.1f} tokens/s | {' | '.join(cells[1:])}", flush=True)
    loader.close()


if __name__ == "__main__":
    measure(*sys.argv[1:3])
