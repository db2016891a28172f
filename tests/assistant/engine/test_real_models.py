"""Real weights: ArS and SpS emit the same tokens, or part where the noise of batches says why."""

import pytest

from assistant.decoding.sources.draft import Run, Source
from assistant.decoding.sources.model import ModelSource
from assistant.decoding.sources.suffix import SuffixSource, TailSource
from assistant.lab.prove.pair import ProvedPair
from assistant.lab.prove.replay import check_noise, check_texts, continue_text, ways
from assistant.request import Sampling
from tests.assistant.engine.answering import assistant_with
from tests.patience import ALL

pytestmark = pytest.mark.weights
LENGTH, WIDTHS = (24, (2, 3, 4, 5, 8, 16)) if ALL else (8, (4,))
PROMPTS = (
    "Write a Python function that reverses a linked list.",
    "Explain why the sky is blue in three sentences.",
)


class Echo(Source):
    """Propose what was decoded before, every third token spoilt: a draft of known quality."""

    name = "echo"

    def __init__(self, tokens: list[int]) -> None:
        self._tokens = tokens

    def offer(self, tokens, budget):
        rest = enumerate(self._tokens[len(tokens) :][:budget], len(tokens))
        run = tuple(token + (place % 3 == 0) for place, token in rest)
        return Run(self.name, run, (0,) * len(run)) if run else None


def checked(pair: ProvedPair, prompt: str, length: int, widths: tuple[int, ...]) -> float:
    """Check a pair's answers in each way; return the share of proposals that were accepted."""
    tokens = pair.prompt(prompt)
    text = continue_text(pair, pair.start(tokens), max(length, *widths), ways(pair)[0], by_ars=True)
    noise = [*check_noise(pair.target, text, widths)]
    largest = max(check.figures.get("largest difference", 0.0) for check in noise)
    if not any(isinstance(source, ModelSource) for source in pair.sources):
        pair.sources.insert(0, Echo(text.tokens))
    checks = [*check_texts(pair, prompt, tokens, length, largest)]
    assert all(check.holds for check in [*noise, *checks]), checks
    accepted, proposed = (
        sum(check.figures[key] for check in checks) for key in ("accepted", "proposed")
    )
    return accepted / proposed


@pytest.mark.parametrize("lookahead", [3, 1, 15, 7])
@pytest.mark.parametrize("prompt", PROMPTS, ids=["code", "prose"])
@pytest.mark.some(2)
def test_smollm2_emits_what_ars_emits(open_model, smollm2, prompt, lookahead):
    assistant = assistant_with(open_model(smollm2, n_ctx=1024, threads=None))
    pair = ProvedPair(assistant, Sampling(), lookahead, 5)
    assert 0 < checked(pair, prompt, LENGTH, WIDTHS) < 1


@pytest.mark.thorough
@pytest.mark.parametrize("lookahead", [1, 3, 7])
def test_the_default_pair_emits_what_ars_emits(open_model, default_pair, lookahead):
    target, draft = (
        open_model(path, n_ctx=512, max_rows=rows, threads=None)
        for path, rows in zip(default_pair, (16, 1), strict=True)
    )
    assistant = assistant_with(target, draft, SuffixSource(), TailSource())
    pair = ProvedPair(assistant, Sampling(), lookahead, 5)
    assert checked(pair, PROMPTS[0], 40, (2, 4, 8)) > 0.3  # of seven, if it is right five in six
