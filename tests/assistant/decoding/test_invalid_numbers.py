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


def answered(engine, received: EventLog):
    hot = Sampling(temperature=50, top_k=60, top_p=1)  # of bytes alone: no end
    engine.submit(Request((Message("user", "Why?"),), hot, "sps", 3, 400, 1, sources=("model",)))
    return received.until(Finished, Failed)


def tokens(received: EventLog) -> list[int]:
    return [token.id for event in received.of(Decoded) for token in event.tokens]


WHERE = pytest.mark.parametrize(
    ("where", "measure"), [("everywhere", True), ("everywhere", False), ("one-token", False)]
)


@WHERE
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.some(5)
def test_invalid_logits_of_the_target_end_the_answer_and_keep_its_text(
    spoil, tiny_draft, tiny_target, value, where, measure
):
    bad = spoil("target", VALUES[value], where)
    with in_process() as (engine, received):
        engine.submit(EngineArgs(bad, tiny_draft, n_ctx=512, threads=1, measure=measure))
        if isinstance(end := received.until(Ready, Failed), Ready):
            end = answered(engine, received)
        assert isinstance(end, Failed)
        assert end.kind == "ModelError"
        assert f"{bad} computes invalid numbers" in end.message
        assert "specchat models check" in end.message
        ids = tokens(received)
        assert bool(ids) == (where == "one-token")
        assert FATAL not in ids[:-1]  # nothing is drawn from a row after it
        engine.submit(EngineArgs(tiny_target, n_ctx=512, threads=1, measure=False))
        received.until(Ready)
        assert isinstance(answered(engine, received), Finished)


@WHERE
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.some(5)
def test_invalid_logits_of_the_draft_end_speculation_alone(
    spoil, tiny_target, value, where, measure
):
    bad = spoil("draft", VALUES[value], where)
    with in_process() as (engine, received):
        engine.submit(EngineArgs(tiny_target, bad, n_ctx=512, threads=1, measure=measure))
        ready = received.until(Ready)
        assert bool(ready.no_draft) == measure  # the draft is loaded later if nothing is measured
        end = answered(engine, received)
        assert (end.stop, end.stats.generated_tokens) == (Stop.LENGTH, 400)
        assert (end.stats.drafted > 0) == (where == "one-token")
        warnings = [event.text for event in received.of(Warned)] or [str(ready.no_draft)]
        assert any(f"{bad} computes invalid numbers" in warning for warning in warnings)
