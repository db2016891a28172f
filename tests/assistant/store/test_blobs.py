"""What is stored beside texts can be read as it was stored, or the chats of today are lost."""

import zlib
from dataclasses import replace

from assistant.events import Alternative, Ghost, Origin, Stats, Tally, Token
from assistant.store.packing import (
    pack_attachments,
    pack_stats,
    pack_trace,
    unpack_attachments,
    unpack_stats,
    unpack_trace,
)
from assistant.store.values import Attachment
from assistant.tokens import Step

STATS = Stats(
    "sps", 2, 6, 5, 3, 9, 4, 5, 0.5, 0.25, 2.0, {3: 2}, 0.5, 1.0, 0.0, (Tally(2, 1),),
    {"model": Tally(5, 3)}, "tiny",
)  # fmt: skip
ATTACHMENTS = (Attachment("a.py", "x = 1"),)
TOP = (Alternative(7, "Hi", 0.5),)
TRACE = (
    Step(
        (
            Token(
                7, "Hi", Origin.DRAFT, "model", 0.5, 0.25, 0, 0.125, (Alternative(7, "Hi", 0.5),)
            ),
            Token(8, "!", Origin.RESIDUAL, "model", 0.75, 0.5, 1),
        ),
        (Ghost(9, "?", "model", 1, 0.5, None, 0.9, 0.75),),
    ),
)
STATS_STORED = (
    "de0017a46d6f6465a3737073a6726f756e647302a76472616674656406a674657374656405a861636365"
    "7074656403ad70726f6d70745f746f6b656e7309ad6361636865645f746f6b656e7304b067656e657261"
    "7465645f746f6b656e7305a970726566696c6c5f73cb3fe0000000000000ad66697273745f746f6b656e"
    "5f73cb3fd0000000000000a86465636f64655f73cb4000000000000000b06c6f6f6b61686561645f636f"
    "756e7473810302a764726166745f73cb3fe0000000000000a87665726966795f73cb3ff0000000000000"
    "aa6775657373696e675f73cb0000000000000000a9706f736974696f6e739182a674657374656402a861"
    "6363657074656401a7736f757263657381a56d6f64656c82a674657374656405a8616363657074656403"
    "a56472616674a474696e79a6656e67696e65a56c6c616d61ab6d61736b65645f726f777300a66d61736b"
    "5f73cb0000000000000000ae74686f756768745f746f6b656e7300a974686f756768745f73cb00000000"
    "00000000"
)
ATTACHMENTS_STORED = "9182a46e616d65a4612e7079a474657874a578203d2031"
TRACE_STORED = (
    "9182a6746f6b656e73928ca2696407a474657874a24869a66f726967696ea56472616674a6736f757263"
    "65a56d6f64656cab7461726765745f70726f62cb3fe0000000000000aa64726166745f70726f62cb3fd0"
    "000000000000a8706f736974696f6e00a7756e69666f726dcb3fc0000000000000aa7461726765745f74"
    "6f709183a2696407a474657874a24869a470726f62cb3fe0000000000000a964726166745f746f7090a9"
    "7468726573686f6c64c0a470617274a6616e737765728ca2696408a474657874a121a66f726967696ea8"
    "726573696475616ca6736f75726365a56d6f64656cab7461726765745f70726f62cb3fe8000000000000"
    "aa64726166745f70726f62cb3fe0000000000000a8706f736974696f6e01a7756e69666f726dc0aa7461"
    "726765745f746f7090a964726166745f746f7090a97468726573686f6c64c0a470617274a6616e737765"
    "72a667686f7374739188a2696409a474657874a13fa6736f75726365a56d6f64656ca8706f736974696f"
    "6e01aa64726166745f70726f62cb3fe0000000000000ab7461726765745f70726f62c0a7756e69666f72"
    "6dcb3feccccccccccccda97468726573686f6c64cb3fe8000000000000"
)


def test_figures_and_attachments_are_read_as_they_were_stored() -> None:
    assert unpack_stats(bytes.fromhex(STATS_STORED)) == replace(STATS, engine="llama")
    packed = zlib.compress(bytes.fromhex(ATTACHMENTS_STORED))
    assert unpack_attachments(packed) == ATTACHMENTS
    assert unpack_attachments(pack_attachments(ATTACHMENTS)) == ATTACHMENTS
    assert unpack_stats(pack_stats(STATS)) == STATS


def test_how_an_answer_was_made_is_read_as_it_was_stored() -> None:
    assert unpack_trace(zlib.compress(bytes.fromhex(TRACE_STORED))) == TRACE
    (step,) = TRACE
    thought = replace(step.tokens[0], part="thought"), replace(step.tokens[1], part="marker")
    for trace in (TRACE, (replace(step, tokens=thought),)):
        assert unpack_trace(pack_trace(trace)) == trace
