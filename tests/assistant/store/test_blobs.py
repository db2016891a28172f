"""Blobs that earlier versions stored can be read."""

import json
import zlib
from dataclasses import replace
from pathlib import Path

from assistant.events import Alternative, Origin, RejectedToken, Stats, Step, Tally, Token
from assistant.store import messages
from assistant.store.values import Attachment

STATS = Stats(
    "sps", 2, 6, 5, 3, 9, 4, 5, 0.5, 0.25, 2.0, {3: 2}, 0.5, 1.0, 0.0, (Tally(2, 1),),
    {"model": Tally(5, 3)}, "tiny",
)  # fmt: skip
ATTACHMENTS = (Attachment("a.py", "x = 1"),)
TOP = (Alternative(7, "Hi", 0.5),)
TRACE = (
    Step(
        (
            Token(7, "Hi", Origin.DRAFT, "model", 0.5, 0.25, 0, 0.125, TOP),
            Token(8, "!", Origin.RESIDUAL, "model", 0.75, 0.5, 1),
        ),
        (RejectedToken(9, "?", "model", 1, 0.5, None, 0.9, 0.75),),
    ),
)
STORED = json.loads(Path(__file__).with_name("blobs.json").read_text())
"""What the first versions wrote, in hexadecimal digits."""


def test_figures_and_attachments_are_read_as_they_were_stored() -> None:
    unpack, pack = messages.UNPACK, messages.PACK
    assert unpack["stats"](bytes.fromhex(STORED["stats"])) == replace(STATS, engine="llama")
    packed = zlib.compress(bytes.fromhex(STORED["attachments"]))
    assert unpack["attachments"](packed) == ATTACHMENTS
    assert unpack["attachments"](pack["attachments"](ATTACHMENTS)) == ATTACHMENTS
    assert unpack["stats"](pack["stats"](STATS)) == STATS


def test_how_an_answer_was_made_is_read_as_it_was_stored() -> None:
    assert messages.unpack_trace(zlib.compress(bytes.fromhex(STORED["trace"]))) == TRACE
    (step,) = TRACE
    thought = replace(step.tokens[0], part="thought"), replace(step.tokens[1], part="marker")
    for trace in (TRACE, (Step(thought, step.rejected),)):
        assert messages.unpack_trace(messages.pack_trace(trace)) == trace
