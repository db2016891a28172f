"""The laboratory's worker does the laboratory's jobs, and those of a chat."""

from dataclasses import replace
from typing import get_args

from assistant.events import Failed, Finished, Ready
from assistant.lab.bench.answers import Compared, Measured
from assistant.lab.protocol import LAB, LabJob, Lockstep, Measuring, Prove, Trial, Tune, Tuned
from assistant.lab.worker import laboratories
from tests.assistant.process.event_log import ask, running


def test_every_job_of_the_laboratories_has_a_handler():
    assert set(get_args(LabJob)) == laboratories()[1].keys()


def test_it_measures_answers_loads_a_model_and_answers(setup):
    trials = Lockstep((Trial(replace(setup, measure=False), "ars", ask(mode="ars")),))
    with running(protocol=LAB) as (engine, received):
        for _ in range(2):  # the second time with models that are loaded
            engine.submit(trials)
            (found,) = received.until(Compared).outcomes
            assert isinstance(found, Measured)
            assert found.stats.generated_tokens == 20
        engine.submit(setup)
        received.until(Ready)
        engine.submit(ask())
        received.until(Finished)


def test_a_job_of_the_laboratories_that_fails_or_is_stopped_ends_in_a_sentence(setup):
    with running(protocol=LAB) as (engine, received):
        engine.submit(Prove(replace(setup, target=setup.target.with_name("gone.gguf"))))
        assert "gone.gguf" in received.until(Failed).message
        engine.submit(Tune(setup))
        received.until(Measuring)
        engine.cancel()
        assert received.until(Failed, Tuned) == Failed("Loading was stopped.", "Cancelled")
