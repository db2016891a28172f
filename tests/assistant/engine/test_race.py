"""A race: lanes share weights, take turns fairly, and emit what each would emit alone."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from assistant.engine.control import Control
from assistant.engine.race import Runner
from assistant.engine.reply import Assistant
from assistant.events import (
    Decoded,
    Failed,
    Finished,
    LaneEvent,
    Loading,
    RaceOver,
    RaceReady,
    Ready,
    Stop,
)
from assistant.request import EngineArgs, Lane, Message, Race, Request, Sampling
from tests.assistant.process.event_log import in_process as running


def request(**settings) -> Request:
    settings = {"max_tokens": 60, "seed": 1, **settings}
    return Request((Message("user", "Who is faster?"),), Sampling(temperature=30), **settings)


@pytest.fixture
def race(setup) -> Race:
    sps = (Lane(f"SpS K={k}", setup, "sps", k) for k in (3, 1))
    return Race((Lane("ArS", setup, "ars"), *sps), request())


def test_every_lane_emits_what_it_emits_alone_with_the_figures_of_its_own_clock(race):
    with running() as (engine, received):
        engine.submit(race)
        received.until(RaceOver)
        together = [received.of(Finished, lane)[0] for lane in range(3)]
        for lane, in_race in zip(race.lanes, together, strict=True):
            engine.submit(lane.setup)
            engine.submit(replace(race.request, mode=lane.mode, lookahead=lane.lookahead))
            alone = received.until(Finished)
            assert alone.stats.mode == in_race.stats.mode == lane.mode
            assert alone.token_ids == in_race.token_ids
            assert (alone.text, alone.stop) == (in_race.text, in_race.stop)
            assert alone.stats.rounds == in_race.stats.rounds
            assert alone.stats.accepted == in_race.stats.accepted
    for lane, stats in enumerate(end.stats for end in together):
        laps = [lap for lap in received.of(LaneEvent) if lap.lane == lane]
        assert 0 < stats.decode_s <= laps[-1].clock
        assert stats.first_token_s <= laps[-1].clock
        said = [lap for lap in laps if isinstance(lap.event, Decoded) and lap.event.tokens]
        last = [event for event in received.of(Decoded, lane) if event.tokens][-1]
        assert last.stats.decode_s + stats.prefill_s <= said[-1].clock


def test_clocks_of_unfinished_lanes_never_differ_by_more_than_a_step(race):
    with running() as (engine, received):
        engine.submit(replace(race, request=request(max_tokens=200)))
        received.until(RaceOver)
    received.assert_in_turns(lanes=3)


def test_the_clock_of_a_lane_stands_while_others_compute(race):
    times = list[float]()

    def reply(request, control, clock):
        times.extend((clock(), clock()))
        yield Failed("", "")

    runner = Runner(0, Mock(Assistant, reply=reply), race.request, Control())
    runner.step()
    assert 0 <= times[0] <= times[1] <= (stopped := runner.clock())
    assert {runner.clock() for _ in range(1000)} == {stopped}


@pytest.mark.parametrize("chats", [True, False])
def test_a_file_is_loaded_once_for_all_lanes_and_the_chat_or_freed_after_the_race(
    race, setup, calls, chats
):
    loaded, freed = map(calls, ("llama_model_load_from_file", "llama_model_free"))
    with running(load=setup if chats else None) as (engine, received):
        engine.submit(race)
        received.until(RaceOver)
        assert (len(loaded), len(freed)) == (2, 0 if chats else 2)
        assert {event.role for event in received.of(Loading)} == {"target", "draft"}
        if chats:
            engine.submit(request())
            assert isinstance(received.until(Finished, Failed), Finished)
    assert len(freed) == 2


def test_cancel_stops_every_lane_and_keeps_what_was_decoded(race, setup, slow_target):
    slow = replace(setup, target=slow_target, n_ctx=8192)
    lanes = tuple(replace(lane, setup=slow) for lane in race.lanes)
    with running() as (engine, received):
        engine.submit(Race(lanes, request(max_tokens=8000)))
        while not all(received.of(Decoded, lane) for lane in range(3)):
            received.until(LaneEvent)
        engine.cancel()
        received.until(RaceOver)
        for lane in range(3):
            finished = received.of(Finished, lane)[0]
            assert finished.stop is Stop.CANCELLED
            texts = [token.text for event in received.of(Decoded, lane) for token in event.tokens]
            # A character of which only some bytes came is told of at the end.
            assert finished.text.rstrip("\ufffd") == "".join(texts).rstrip("\ufffd")
            assert 0 < finished.stats.generated_tokens < 8000
        engine.submit(race)
        received.until(RaceOver)
        assert received.of(Finished, 0)[1].stop is Stop.LENGTH


def test_a_cancel_while_a_race_loads_is_reported(race):
    with running() as (engine, received):
        real = received.emit

        def emit(event) -> None:
            if isinstance(event, Loading):
                engine.cancel()
            real(event)

        engine._handle = emit
        engine.submit(race)
        assert received.until(Failed).kind == "Cancelled"


def test_an_update_of_the_chat_does_not_change_a_race(race):
    with running() as (engine, received):
        engine.submit(replace(race, request=request(max_tokens=100)))
        received.until(LaneEvent)
        engine.call(engine._streams[-1].update, "sps", 5)
        received.until(RaceOver)
        assert {event.lookahead for event in received.of(Decoded, 0)} == {0}
        assert max(event.lookahead for event in received.of(Decoded, 1)) == 3


def test_lane_that_cannot_speculate_says_so_and_the_others_go_on(race, setup, tmp_path):
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"GGUF nonsense")
    misfit = replace(race.lanes[1], setup=replace(setup, draft=bad))
    with running() as (engine, received):
        alone = replace(race.request, sources=("model",))
        engine.submit(replace(race, lanes=(race.lanes[0], misfit, race.lanes[2]), request=alone))
        ready, failed, _ = received.until(RaceReady).lanes
        assert isinstance(ready, Ready)
        assert isinstance(failed, Failed)
        assert "bad.gguf" in failed.message
        received.until(RaceOver)
        assert {lap.lane for lap in received.of(LaneEvent)} == {0, 2}
        assert all(received.of(Finished, lane)[0].stop is Stop.LENGTH for lane in (0, 2))


def test_race_in_which_no_lane_can_start_fails(race, tmp_path):
    bad = Path(tmp_path / "bad.gguf")
    bad.write_bytes(b"nonsense")
    lanes = tuple(replace(lane, setup=EngineArgs(bad)) for lane in race.lanes)
    with running() as (engine, received):
        engine.submit(replace(race, lanes=lanes))
        failed = received.until(Failed)
        assert failed.kind == "ModelError"
        assert failed.message.count(str(bad)) == 1


def test_lane_whose_question_is_too_long_fails_and_the_others_go_on(race, setup):
    narrow = replace(race.lanes[1], setup=replace(setup, n_ctx=256))
    long = replace(request(max_tokens=20), messages=(Message("user", "x" * 400),))
    with running() as (engine, received):
        engine.submit(Race((race.lanes[0], narrow), long))
        received.until(RaceOver)
        assert received.of(Failed, 1)[0].kind == "ContextFull"
        assert received.of(Finished, 0)[0].stop is Stop.LENGTH
