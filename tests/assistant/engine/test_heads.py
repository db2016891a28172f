"""A target's own prediction head as the draft, from the setup to the law of what is said.

False alarms below 1e-7 each; see `chi_square`.
"""

from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np
import pytest

from assistant.decoding.loops import speculative
from assistant.decoding.mapping import Mapping
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Fixed
from assistant.engine.load import HeadSource
from assistant.request import Setup
from models.native.engine import WeightSettings
from models.native.heads import HeadModel
from models.native.model import NativeModel
from models.native.weights import Weights
from tests import tiny
from tests.assistant.chi_square import agrees, all_agree
from tests.assistant.decoding.test_sampling_law import PROMPT, ids, row, warped
from tests.assistant.engine.answering import loaded
from tests.assistant.process.driving import ask
from tests.assistant.process.driving import near as running
from tests.engine import llama_alone

pytestmark = llama_alone
ROUNDS = 3000


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tiny.write(tmp_path_factory.mktemp("heads") / "glm.gguf", "glm4moe", seed=3)


def test_what_a_head_proposes_keeps_the_law_of_the_target(file):
    weights = Weights(file, WeightSettings(heads=True))
    target = NativeModel(weights, n_ctx=512, threads=1, heads=True)
    head = HeadModel(target)
    drafter = Cascade(HeadSource(head, Mapping.by_number(target.n_vocab, head.n_vocab)))
    rule = BlockRule(np.random.default_rng(20))
    rounds = [
        next(speculative(target, drafter, list(PROMPT), lambda: Fixed(2), warped, rule))
        for _ in range(ROUNDS)
    ]
    accepted = Counter(round_.accepted for round_ in rounds)
    assert min(accepted[0], accepted[1], accepted[2]) > ROUNDS / 50
    assert agrees(Counter(ids(round_)[0] for round_ in rounds), row(target, PROMPT))
    extra = defaultdict(Counter)
    for *path, last in (ids(round_) for round_ in rounds if round_.accepted == 2):
        extra[tuple(path)][last] += 1
    often = {path: counts for path, counts in extra.items() if counts.total() >= 50}
    assert often
    expected = {path: row(target, [*PROMPT, *path]) for path in often}
    assert all_agree([(often[path], expected[path]) for path in often])
    head.close()
    target.close()
    weights.close()


def test_a_setup_with_heads_speculates_with_them_and_says_what_ars_says(file, tmp_path):
    with running() as (engine, heard):
        said = {}
        for mode, lookahead in (("ars", None), ("sps", 3), ("auto", None)):
            engine.submit(Setup(file, n_ctx=512, threads=1, heads=True, cache=tmp_path))
            ready = heard.end()
            assert (ready.draft.name, ready.engine) == ("heads of glm", "llama")
            request = replace(ask(mode=mode, lookahead=lookahead, max_tokens=60), seed=5)
            engine.submit(request)
            said[mode] = heard.end()
        assert said["sps"].stats.sources["heads"].accepted
        assert said["ars"].text == said["sps"].text == said["auto"].text


def test_a_target_without_heads_answers_without_them_and_says_why(tiny_target):
    with running() as (engine, heard):
        engine.submit(Setup(tiny_target, n_ctx=512, threads=1, heads=True))
        ready = heard.end()
        assert ready.draft is None
        assert "has no prediction heads" in ready.no_draft
        engine.submit(ask())
        assert "heads" not in heard.end().stats.sources


def test_a_setup_without_heads_loads_none(file):
    with loaded(Setup(file, n_ctx=512, threads=1)) as (assistant, ready):
        assert ready.draft is None
        assert "heads" not in assistant.sources
