"""The context budget: how long texts are, and which turns a prompt still has room for."""

from collections.abc import Callable, Sequence

from assistant.request import Message
from models.errors import ContextFull

Encode = Callable[[Sequence[Message]], list[int]]

# Slices have somewhat more tokens than the whole, so that what nearly fits is looked at in full.
_CLEARLY = 1.25

SLICE = 1 << 14
"""Characters that are tokenised at a time: some milliseconds."""

LONGEST_TOKEN = 256
"""More characters than any vocabulary puts into a token; 128 spaces are the most that are known."""

Tokenize = Callable[[str], list[int]]


def without_hopeless(
    messages: Sequence[Message], tokenize: Tokenize, room: int
) -> tuple[Sequence[Message], int]:
    """Drop the turns up to the last one that is far too long; return the rest and the number
    dropped.

    `fit` would do so too, after it has tokenised everything: seconds for megabytes.

    Raises:
        ContextFull: the system prompt, the last question or a result after it is far too long.
    """
    system, turns = _turns(messages)

    def is_hopeless(turn: Sequence[Message]) -> bool:
        # Templates may shorten answers, so their length says nothing.
        written = (message.content for message in turn if message.role != "assistant")
        most = int(room * _CLEARLY)
        return any(len(text) > SLICE and count(text, tokenize, most) > most for text in written)

    last = turns[-1] if turns else []
    asked = [message for message in last if message.role == "user"]
    returned = [message for message in last if message.role == "tool"]
    parts = (system, "system prompt"), (asked, "question"), (returned, "result of the tools")
    for part, name in parts:
        if is_hopeless(part):
            advice = "Have it return less" if part is returned else "Shorten it"
            characters = sum(len(message.content) for message in part)
            raise ContextFull(
                f"The {name} has {characters} characters, and there is room for {room} tokens. "
                f"{advice}, or make more room with --ctx."
            )
    hopeless = [i for i, turn in enumerate(turns) if is_hopeless(turn)]
    if not hopeless:
        return messages, 0
    dropped = hopeless[-1] + 1
    return [*system, *(message for turn in turns[dropped:] for message in turn)], dropped


def fit(messages: Sequence[Message], encode: Encode, room: int) -> tuple[list[int], int]:
    """Encode a conversation into at most `room` tokens; return them and the turns dropped.

    When a conversation outgrows the room, whole turns are dropped from its beginning until it takes
    half, so that the next turns keep their prefix, and with it the caches. The system prompt and
    the last question stay, with what tools have returned since. What is dropped depends only on
    the conversation.

    Raises:
        ContextFull: the system prompt, the last question and those results are too long by
            themselves.
    """
    tokens = encode(messages)
    if len(tokens) <= room:
        return tokens, 0
    system, turns = _turns(messages)
    frame = len(encode([*system, Message("user", "")]))  # what every prompt has
    sizes = [len(encode([*system, *turn])) - frame for turn in turns]
    first = _first_turn(turns, sizes, room - frame)
    while first < len(turns):
        kept = [message for turn in turns[first:] for message in turn]
        if len(tokens := encode([*system, *kept])) <= room:
            return tokens, first
        first += 1
    returned = any(message.role == "tool" for message in (turns[-1] if turns else ()))
    raise ContextFull(
        f"The question {'and what tools returned take' if returned else 'takes'} {len(tokens)} "
        f"tokens, and there is room for {room}. "
        f"{'Have them return less' if returned else 'Shorten it'}, or make more room with --ctx."
    )


def _turns(messages: Sequence[Message]) -> tuple[list[Message], list[list[Message]]]:
    """Split a conversation into its system prompt and turns that begin with a question."""
    system = [message for message in messages if message.role == "system"]
    turns: list[list[Message]] = []
    for message in messages:
        if message.role == "user" or (message.role != "system" and not turns):
            turns.append([])
        if message.role != "system":
            turns[-1].append(message)
    return system, turns


def _first_turn(turns: Sequence[object], sizes: Sequence[int], room: int) -> int:
    """Replay the conversation: each time it overflows, forget turns until half the room is free."""
    first = 0
    for last in range(len(turns)):
        if sum(sizes[first : last + 1]) > room:
            while first < last and sum(sizes[first : last + 1]) > room // 2:
                first += 1
    return first


def count(text: str, tokenize: Tokenize, enough: int) -> int:
    """Return how many tokens a text has.

    Once there are more than `enough` of them, the rest is estimated by its length: it does not
    matter any more, and a tokeniser takes seconds for megabytes.
    """
    if len(text) > SLICE:
        tokens, must_exceed = 0, len(text) > LONGEST_TOKEN * enough
        for end in range(SLICE, len(text) + SLICE, SLICE):
            tokens += len(tokenize(text[end - SLICE : end]))
            if tokens > enough or must_exceed:
                return tokens * len(text) // min(end, len(text))
    return len(tokenize(text))
