"""NaN or infinite logits: of the target they end the answer, of a draft only speculation.

In "everywhere" files one weight of the last layer spoils every logit; in "one-token" files all is
well until a certain byte has been read.
"""

from pathlib import Path

import numpy as np
import pytest

from assistant.events import Decoded, Failed, Finished, Ready, Stop, Warned
from assistant.request import EngineArgs, Message, Request, Sampling
from models.slim.writing import read_layout
from tests import tiny
from tests.assistant.process.event_log import EventLog, in_process

VALUES = {"nan": np.nan, "inf": np.inf, "minus-inf": -np.inf}

FATAL = ord("E")  # its token is its byte; no prompt here holds it, nor what is measured at a load


@pytest.fixture
def spoil(tiny_target, tiny_draft, tmp_path):
    def spoil(role: str, value: float, where: str) -> Path:
        whole = tiny_target if role == "target" else tiny_draft
        data = bytearray(whole.read_bytes())
        if where == "everywhere":
            data[-400:] = np.full(100, value, np.float32).tobytes()
        else:
            at = read_layout(whole).data + FATAL * tiny.EMBEDDING * 4
            data[at : at + 4] = np.float32(value).tobytes()
        path: Path = tmp_path / f"bad-{role}.gguf"
        path.write_bytes(data)
        return path

    return spoil


def ask(text: str) -> Request:
    hot = Sampling(temperature=50, top_k=60, top_p=1)  # of bytes alone: no end
    message = Message("user", text)
    return Request(
        (message,), hot, mode="sps", lookahead=3, max_tokens=400, seed=1, sources=("model",)
    )


def answered(engine, received: EventLog, text: str = "Why?"):
    engine.submit(ask(text))
    return received.until(Finished, Failed)


def tokens(received: EventLog) -> list[int]:
    events = [event for event in received.events if isinstance(event, Decoded)]
    return [token.id for event in events for token in event.tokens]


@pytest.mark.parametrize("measure", [True, False])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.some(3)
def test_invalid_logits_of_the_target_are_reported(spoil, tiny_draft, tiny_target, value, measure):
    bad = spoil("target", VALUES[value], "everywhere")
    with in_process() as (engine, received):
        engine.submit(EngineArgs(bad, tiny_draft, n_ctx=512, threads=1, measure=measure))
        end = received.until(Ready, Failed)
        if isinstance(end, Ready):
            end = answered(engine, received)
        assert end.kind == "ModelError"
        assert f"{bad} computes invalid numbers" in end.message
        assert "specchat models check" in end.message
        assert tokens(received) == []
        engine.submit(EngineArgs(tiny_target, n_ctx=512, threads=1, measure=False))
        received.until(Ready)
        assert isinstance(answered(engine, received), Finished)


@pytest.mark.parametrize("measure", [True, False])
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.some(3)
def test_a_draft_with_invalid_logits_is_not_used(spoil, tiny_target, value, measure):
    bad = spoil("draft", VALUES[value], "everywhere")
    with in_process() as (engine, received):
        engine.submit(EngineArgs(tiny_target, bad, n_ctx=512, threads=1, measure=measure))
        ready = received.until(Ready, Failed)
        assert isinstance(ready, Ready), ready
        assert bool(ready.no_draft) == measure  # the draft is loaded later if nothing is measured
        end = answered(engine, received)
        assert (end.stop, end.stats.drafted) == (Stop.LENGTH, 0)
        warnings = [event.text for event in received.events if isinstance(event, Warned)]
        (reason,) = warnings or [ready.no_draft]
        assert f"{bad} computes invalid numbers" in reason


@pytest.mark.parametrize("value", VALUES)
def test_invalid_logits_amid_an_answer_end_it_and_keep_its_text(spoil, tiny_draft, value):
    bad = spoil("target", VALUES[value], "one-token")
    with in_process() as (engine, received):
        engine.submit(EngineArgs(bad, tiny_draft, n_ctx=512, threads=1, measure=False))
        received.until(Ready)
        end = answered(engine, received)
        assert isinstance(end, Failed)
        assert "computes invalid numbers" in end.message
        said = tokens(received)
        assert said
        assert FATAL not in said[:-1]  # nothing is drawn from a row after it


@pytest.mark.parametrize("value", VALUES)
def test_invalid_logits_of_the_draft_end_speculation_alone(spoil, tiny_target, value):
    bad = spoil("draft", VALUES[value], "one-token")
    with in_process() as (engine, received):
        engine.submit(EngineArgs(tiny_target, bad, n_ctx=512, threads=1, measure=False))
        assert received.until(Ready).draft is not None
        end = answered(engine, received)
        assert end.stop is Stop.LENGTH
        assert end.stats.generated_tokens == 400
        assert end.stats.drafted > 0
        notices = [event.text for event in received.events if isinstance(event, Warned)]
        assert any("without the draft model" in text and bad.name in text for text in notices)
