"""`context`: which turns of a conversation fit into a prompt."""

import pytest

from assistant.prompt.context import drop_oversized, fit
from assistant.request import Message
from assistant.store.values import Role
from models.errors import ContextFull
from tests.assistant.prompt.prompts import conversation, encode


def wrapped(messages):
    """One token a character, four around each message as templates have them, two to ask."""
    return [code for each in messages for code in (0, *map(ord, each.content), 1, 2, 3)] + [4, 5]


def test_a_part_that_does_not_fit_is_named_for_what_it_is_with_both_numbers():
    for messages in (conversation(30), conversation(2, 2, 50), conversation(30)[:1]):
        with pytest.raises(ContextFull, match=r"takes? \d+ tokens.*room for 5"):
            fit(messages, encode, 5)
    system, answer = Message("system", "s" * 60), Message("assistant", "a" * 60)
    with pytest.raises(ContextFull, match=r"^The system prompt takes \d\d tokens.*room for 50"):
        fit([system, Message("user", "u")], wrapped, 50)
    with pytest.raises(ContextFull, match=r"^The question and the answer so far take \d\d tokens"):
        fit([Message("user", "u"), answer], wrapped, 50)
    files = r"^The question with its files takes (about )?\d\d tokens.*room for 50\. Attach less"
    with pytest.raises(ContextFull, match=files):
        fit([Message("user", "u" * 60, attached=50)], wrapped, 50)


@pytest.mark.parametrize("system", [0, 50, 150])
def test_a_cut_of_short_turns_leaves_half_of_the_room_free(system):
    """Half of what the system prompt leaves of it, which costs no turn besides."""
    room, before, frame = 1200, 0, len(wrapped(conversation(0, system=system)))
    for turns in range(2, 300):
        tokens, dropped = fit(conversation(*[2] * turns, system=system), wrapped, room)
        assert dropped >= before
        if dropped != before:
            assert (room + frame) // 2 - 24 <= len(tokens) <= (room + frame) // 2 + 24
        before = dropped
    assert before > 150


def test_turns_that_take_more_together_than_alone_are_dropped_until_the_rest_fits():
    tokens, _ = fit(conversation(*[2] * 20), wrapped, 100, lambda turn: wrapped(turn)[::2])
    assert 40 < len(tokens) <= 100


@pytest.mark.parametrize("turns", [50, 500, 1500])
def test_the_work_of_fitting_a_conversation_grows_with_its_length_alone(turns):
    encoded = 0

    def counted(messages):
        nonlocal encoded
        encoded += len(messages)
        return wrapped(messages)

    fit(conversation(*[2] * turns), counted, 300)
    assert encoded <= 6 * 2 * turns


def test_results_go_with_their_question_and_those_of_the_last_one_stay():
    def turn(letter):
        called = [Message("assistant", letter * 4), Message("tool", letter * 9)]
        return [Message("user", letter), *called, Message("assistant", letter * 4)]

    messages = [*turn("a"), *turn("b"), *turn("c")[:-1]]
    tokens, dropped = fit(messages, encode, 40)
    assert (dropped, "".join(map(chr, tokens[:-2]))) == (2, "ucacccctccccccccc")
    with pytest.raises(ContextFull, match=r"what tools returned take \d+ tokens.*room for 17"):
        fit(messages, encode, 17)


def test_a_result_that_is_far_too_long_is_refused_before_it_is_tokenised():
    messages = [Message("user", "a"), Message("assistant", "b"), Message("tool", "c" * 99_999)]
    with pytest.raises(ContextFull, match=r"tool result takes about 99,999 tokens, .*return less"):
        drop_oversized(messages, lambda text: [1] * len(text), 100)
    with pytest.raises(ContextFull, match=r"question with its files takes .*Attach less"):
        drop_oversized([Message("user", "c" * 99_999, attached=9)], lambda text: [*text], 100)
    later = [*messages, Message("assistant", "d"), Message("user", "e")]
    kept, dropped = drop_oversized(later, lambda text: [1] * len(text), 100)
    assert (list(kept), dropped) == (later[-1:], 1)


@pytest.mark.parametrize(
    ("roles", "kept"),
    [
        ("s u a s u a s u", "s1 s4 s7 u8"),  # those of dropped turns come first, as they did
        ("s u a u a s u", "s1 s6 u7"),
        ("u s a u a s u", "s2 s6 u7"),
        ("s u a u a u s", "s1 u6 s7"),  # in the last turn: after its question
    ],
)
def test_system_messages_keep_their_order_when_turns_are_dropped(roles: str, kept: str) -> None:
    names: dict[str, Role] = {"s": "system", "u": "user", "a": "assistant"}
    given = [Message(names[role], f"{i}") for i, role in enumerate(roles.split(), 1)]
    huge = [Message("user", "x" * 99_999), Message("assistant", "x")]
    at = 1 if roles.startswith("s") else 0
    clear, _ = drop_oversized([*given[:at], *huge, *given[at:]], lambda text: [1] * len(text), 100)
    assert clear == given
    tokens, _ = fit(given, encode, len(kept.replace(" ", "")) + 2)
    assert "".join(map(chr, tokens[:-2])) == kept.replace(" ", "")
