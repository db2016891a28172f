from dataclasses import replace

import pytest

from assistant.events import Finished, Ready
from assistant.lab.answer_history import COPYING, MIN_ARS_TOKENS, kind_of, look_back
from assistant.request import Setup
from assistant.stats import Stats, Tally
from assistant.store import Store
from assistant.store.values import StoredAnswer
from tests.assistant.process.driving import ask, running
from tests.assistant.store.talks import talk

SPS = Stats(
    "sps", rounds=10, drafted=30, tested=20, accepted=15, prompt_tokens=100, generated_tokens=25,
    decode_s=1.0, positions=(Tally(10, 9), Tally(10, 6)), sources={"model": Tally(20, 15)},
    draft="small",
)  # fmt: skip
ARS = Stats("ars", rounds=40, prompt_tokens=80, generated_tokens=40, decode_s=4.0)


def answered(stats: Stats, content: str = "Yes.", model: str = "big") -> StoredAnswer:
    return StoredAnswer(1.0, model, content, stats)


def test_rates_are_those_of_all_tokens():
    long = replace(SPS, rounds=30, drafted=90, tested=80, accepted=20, generated_tokens=50)
    group = look_back([answered(SPS), answered(long)]).whole
    whole = group.stats
    assert (group.answers, whole.generated_tokens, whole.rounds) == (2, 75, 40)
    assert whole.acceptance_rate == 35 / 100
    assert whole.tokens_per_eval == 75 / 40
    assert whole.positions == (Tally(20, 18), Tally(20, 12))
    assert whole.sources == {"model": Tally(40, 30)}


def test_the_speed_up_is_against_ones_own_answers_without_proposals():
    whole = look_back([answered(ARS), answered(SPS)]).whole
    assert whole.compared == 1
    assert whole.speedup == pytest.approx(25 * (4.0 / 40) / 1.0)


@pytest.mark.parametrize(
    "other",
    [
        answered(ARS, model="bigger"),
        answered(replace(ARS, prompt_tokens=5000)),
        answered(replace(ARS, generated_tokens=MIN_ARS_TOKENS - 1)),
    ],
    ids=["another target", "another depth", "too little"],
)
def test_without_such_answers_there_is_no_speed_up(other):
    assert look_back([other, answered(SPS)]).whole.speedup is None


def test_answers_are_distinguished_by_pair_kind_and_depth():
    deep = replace(SPS, prompt_tokens=3000)
    copied = replace(SPS, draft=None, sources={"suffix": Tally(20, 15)})
    old = replace(SPS, draft=None)  # of a version that did not keep the draft's name
    history = look_back(
        [answered(SPS, "```\nx\n```"), answered(deep), answered(copied), answered(old)]
    )
    assert {pair: group.answers for pair, group in history.pairs.items()} == {
        ("big", "small"): 2, ("big", COPYING): 1, ("big", "a draft"): 1
    }  # fmt: skip
    assert {kind: group.answers for kind, group in history.kinds.items()} == {"code": 1, "prose": 3}
    assert {depth: group.answers for depth, group in history.depths.items()} == {0: 3, 2048: 1}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "prose"),
        ("Bread is baked.\n\nFor long.", "prose"),
        ("```python\nprint(1)\n```", "code"),
        ("So:\n```\na\nb\n", "code"),  # cut before it ended
        ("One.\nTwo.\nThree.\n```\na\n```", "mixed"),
        ("Do this:\n- a\n- b", "list"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "list"),
        ("1. a\nso it goes\nand on", "prose"),
        ("```\n- a\n- b\n```", "code"),
        ("```\n\n```", "prose"),  # nothing in it
    ],
)
def test_kinds_are_told_from_lines(text, kind):
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    "impossible",
    [
        {"decode_s": float("nan")}, {"decode_s": float("inf")}, {"decode_s": 0.0},
        {"accepted": 21}, {"tested": 31}, {"rounds": 0}, {"generated_tokens": -1},
        {"prompt_tokens": -1}, {"generated_tokens": 2**60}, {"positions": (Tally(1, 2),)},
        {"sources": {"model": Tally(-1, -2)}},
    ],
    ids=str,
)  # fmt: skip
def test_figures_that_cannot_be_are_left_out(impossible):
    history = look_back([answered(replace(SPS, **impossible)), answered(SPS)])
    assert (history.whole.answers, history.left_out) == (1, 1)


def test_figures_name_the_draft_that_was_loaded(tiny_target, tiny_draft):
    with running() as (engine, heard):
        for draft in (tiny_draft, None):
            engine.submit(Setup(tiny_target, draft, n_ctx=512, threads=1, measure=False))
            ready = heard.until(Ready)
            engine.submit(ask())
            assert heard.until(Finished).stats.draft == (ready.draft and ready.draft.name)
            assert (ready.draft is None) == (draft is None)


def test_the_store_gives_every_answer_that_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr("assistant.store.answers._AT_ONCE", 2)
    store = Store(tmp_path / "chats.db")
    first, _ = talk(store, "One?", "Two?", "Three?")
    _, records = talk(store, "Four?", "Five?")
    assert [each.content for each in store.answers.with_stats()] == [
        f"Answer to {number}?" for number in ("One", "Two", "Three", "Four", "Five")
    ]
    store.drop(records[2].id)
    store.delete(first)
    assert [each.content for each in store.answers.with_stats()] == ["Answer to Four?"]
    store.close()
