"""The option that names the lanes of a race, and the lanes that it yields."""

from dataclasses import replace
from pathlib import Path

import pytest

from assistant.request import EngineArgs, Lane, Message, Request
from models.errors import ModelError, UsageError
from tests import tiny
from tests.engine import ENGINE
from tests.tui.chat.chat_driver import TINY
from tui.race.lanes import RACE_TOKENS, lane_name, parse, prepare_race, race_ars_and_sps

PLAIN, GUESSED = (None, "ars", None), (None, "sps", None)


@pytest.mark.parametrize(
    ("spec", "entries", "names"),
    [
        ("ars,sps", [PLAIN, GUESSED], ["without guesses", "with guesses"]),
        (" ARS , Sps=3 ", [PLAIN, (None, "sps", 3)], ["without guesses", "with 3 guesses"]),
        ("sps=1,ars", [(None, "sps", 1), PLAIN], ["with 1 guess", "without guesses"]),
        (
            "f16:ars,q4:sps", [("f16", "ars", None), ("q4", "sps", None)],
            ["F16 without guesses", "Q4 with guesses"],
        ),
        (
            "/a/big.gguf:auto,org/repo:file.gguf:sps=12",
            [("/a/big.gguf", "auto", None), ("org/repo:file.gguf", "sps", 12)],
            ["big guesses auto", "file with 12 guesses"],
        ),
        (
            "llama:ars,IK:q4:sps=3,ik:auto",
            [(*PLAIN, "llama"), ("q4", "sps", 3, "ik"), (None, "auto", None, "ik")],
            ["llama without guesses", "ik Q4 with 3 guesses", "ik guesses auto"],
        ),
    ],
)  # fmt: skip
def test_spec_is_a_list_of_lanes(spec, entries, names):
    found = [(each.target, each.mode, each.lookahead, each.engine) for each in parse(spec)]
    assert found == [(*each, None)[:4] for each in entries]
    assert [lane_name(entry) for entry in parse(spec)] == names


@pytest.mark.parametrize(
    "spec",
    [
        "", "ars", "ars,", "a,b", "ars,f16", "ars;sps", "ars,:sps", "ars,ars=3", "ars,auto=2",
        "ars,sps=0", "ars,sps=32", f"ars,sps={'1' * 5_000}", "ars,sps=x", "ars,ars,ars,ars,ars",
    ],
)  # fmt: skip
def test_spec_that_is_invalid_is_a_usage_error(spec):
    with pytest.raises(UsageError):
        parse(spec)


@pytest.fixture
def models(bare_machine: Path) -> Path:
    """A folder with a target in two quantisations, and a draft."""
    tiny.write(bare_machine / "target.gguf", name="Toy", file_type=2)
    tiny.write(bare_machine / "big.gguf", name="Toy", file_type=1)
    tiny.write(bare_machine / "draft.gguf", name="Draft", like=0, seed=1)
    return bare_machine


def test_lanes_differ_in_target_mode_and_lookahead_alone(models):
    target, draft = models / "target.gguf", models / "draft.gguf"
    settings = replace(TINY, target=str(target), draft=str(draft), max_tokens=None, lookahead=2)
    settings = replace(settings, system="Be brief.")
    race = prepare_race(parse(f"f16:ars,q4:sps,ik:sps=5,{draft}:auto"), settings, "Why?")
    assert [lane.setup.engine for lane in race.lanes] == [ENGINE, ENGINE, "ik", ENGINE]
    targets = [models / "big.gguf", target, target, draft]
    assert [lane.setup.target for lane in race.lanes] == targets
    modes = [("ars", None), ("sps", 2), ("sps", 5), ("auto", 2)]
    assert [(lane.mode, lane.lookahead) for lane in race.lanes] == modes
    assert {lane.setup.draft for lane in race.lanes} == {draft}
    assert {(lane.setup.n_ctx, lane.setup.threads) for lane in race.lanes} == {(512, 1)}
    assert [message.content for message in race.request.messages] == ["Be brief.", "Why?"]
    assert (race.request.max_tokens, race.request.seed) == (RACE_TOKENS, TINY.seed)
    assert race.request.sampling == TINY.sampling


def test_a_draft_that_is_missing_is_an_error_only_if_it_was_chosen_or_nothing_else_guesses(models):
    settings = replace(TINY, target=str(models / "target.gguf"))
    for wrong in (replace(settings, source="model"), replace(settings, draft="nosuch")):
        with pytest.raises(ModelError, match=r"SpS needs a draft|'nosuch'"):
            prepare_race(parse("ars,sps"), wrong, "Why?")
        assert len(prepare_race(parse("ars,ars"), wrong, "Why?").lanes) == 2
    model = replace(settings, source="model")
    assert len(prepare_race(parse("ars,auto"), model, "Why?").lanes) == 2
    assert len(prepare_race(parse("ars,sps"), settings, "Why?").lanes) == 2


def test_duel_is_ars_against_sps_of_the_pair_at_hand(models):
    setup = EngineArgs(models / "target.gguf", models / "draft.gguf")
    request = Request((Message("user", "Why?"),), seed=3)
    race = race_ars_and_sps(setup, replace(TINY, lookahead=4), request)
    without, with_ = race.lanes
    assert without == Lane("without guesses", setup, "ars")
    assert with_ == Lane("with guesses", setup, "sps", 4)
    assert race.request == replace(request, max_tokens=RACE_TOKENS)
    assert race_ars_and_sps(setup, TINY, replace(request, max_tokens=7)).request.max_tokens == 7


def test_lanes_without_a_seed_share_one_that_is_drawn(models):
    setup = EngineArgs(models / "target.gguf", models / "draft.gguf")
    settings = replace(TINY, target=str(setup.target), draft=str(setup.draft), seed=None)
    question = Request((Message("user", "Why?"),))
    races = [
        *(race_ars_and_sps(setup, settings, question) for _ in range(2)),
        prepare_race(parse("ars,sps"), settings, "Why?"),
    ]
    seeds = [race.request.seed for race in races]
    assert None not in seeds
    assert len(set(seeds)) == 3  # else two of 2**32 were alike: once in 10**9
