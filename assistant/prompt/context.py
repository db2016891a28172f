"""The context budget: count tokens, and drop the turns that do not fit."""

from collections.abc import Callable, Sequence
from itertools import chain, takewhile

from assistant.request import Message
from models.errors import ContextFull

Encode = Callable[[Sequence[Message]], list[int]]

# A text in slices has slightly more tokens than as a whole; borderline texts are left to `fit`.
_CLEARLY = 1.25

SLICE = 1 << 14
"""Characters that are tokenised at a time: some milliseconds."""

LONGEST_TOKEN = 256
"""More characters than any token has; the longest known has 128 spaces."""

Tokenize = Callable[[str], list[int]]
_SHORTEN = {
    "system": ("system prompt", "Shorten it"),
    "user": ("question", "Shorten it"),
    "tool": ("tool result", "Have it return less"),
}
_ATTACHED = "question with its files", "Attach less, or ask in words that stand there"
"""Files are read whole if no passage of them fits the question."""


def drop_oversized(
    messages: Sequence[Message], tokenize: Tokenize, budget: int
) -> tuple[Sequence[Message], int]:
    """Drop all turns up to the last oversized one; return the rest and the number of dropped ones.

    A turn is oversized if a text in it has far more tokens than `budget`. `fit` would drop it, too,
    but only after tokenising everything: seconds for megabytes. `ContextFull` says that the system
    prompt, the last question or a later result is oversized.
    """
    head, turns = _turns(messages)
    limit = int(budget * _CLEARLY)

    def is_oversized(message: Message) -> bool:
        # Templates may shorten answers, so their length says nothing.
        text = "" if message.role == "assistant" else message.content
        return len(text) > SLICE and count_tokens(text, tokenize, limit) > limit

    required = [*filter(_is_system, messages), *(turns[-1] if turns else ())]
    for message in filter(is_oversized, required):
        name, advice = _ATTACHED if message.attached else _SHORTEN[message.role]
        size = f"{count_tokens(message.content, tokenize, limit):,}"
        sentence = f"The {name} takes about {size} tokens, and there is room for {budget:,}."
        raise ContextFull(f"{sentence} {advice}.")
    dropped = max((i for i, turn in enumerate(turns, 1) if any(map(is_oversized, turn))), default=0)
    return _without(head, turns, dropped), dropped


def fit(
    messages: Sequence[Message], encode: Encode, budget: int, encode_turn: Encode | None = None
) -> tuple[list[int], int]:
    """Encode a conversation into at most `budget` tokens; return them and the turns dropped.

    When a conversation outgrows the budget, whole turns are dropped from its beginning until it
    takes half. So the prompts of the next turns have the same prefix, and the caches stay valid.
    System messages stay, in their order, and the last question with what tools returned. The choice
    depends only on the conversation. `encode_turn` encodes a turn without the parts that every
    prompt has, such as tools; by default it is `encode`. `ContextFull` says that the system prompt,
    the last question and its results alone do not fit.
    """
    tokens = encode(messages)
    if len(tokens) <= budget:
        return tokens, 0
    head, turns = _turns(messages)
    droppable = [[message for message in turn if not _is_system(message)] for turn in turns]
    encode_turn = encode_turn or encode
    next_question = Message("user", "")  # so that a turn is encoded as it is before another
    overhead = len(encode_turn([next_question]))
    sizes = [len(encode_turn([*turn, next_question])) - overhead for turn in droppable[:-1]]
    sizes += [len(encode_turn(turn)) - overhead for turn in droppable[-1:]]
    system = [*filter(_is_system, messages), next_question]  # which every prompt has
    dropped = _first_turn(sizes, budget - len(encode(system)))
    while turns:
        tokens = encode(_without(head, turns, dropped))
        excess = len(tokens) - budget
        if excess <= 0:
            return tokens, dropped
        if dropped == len(turns) - 1:
            break
        while excess > 0 and dropped < len(turns) - 1:
            excess -= sizes[dropped]
            dropped += 1
    last = turns[-1] if turns else []
    size, roles = len(tokens), [message.role for message in last]
    is_attached = any(message.attached for message in last)
    name, advice = _ATTACHED if is_attached else _SHORTEN["user"]
    what = f"{name} takes"
    if (system_size := len(encode_turn(system))) > budget:
        what, size = "system prompt takes", system_size
    elif "tool" in roles:
        what, advice = "question and what tools returned take", "Have them return less"
    elif roles[-1:] == ["assistant"]:
        what, advice = "question and the answer so far take", "Ask for a shorter answer"
    raise ContextFull(f"The {what} {size:,} tokens, and there is room for {budget:,}. {advice}.")


def _is_system(message: Message) -> bool:
    return message.role == "system"


def _turns(messages: Sequence[Message]) -> tuple[list[Message], list[list[Message]]]:
    """Split a conversation into its first system messages and turns that begin with a question."""
    head = [*takewhile(_is_system, messages)]
    turns: list[list[Message]] = []
    for message in messages[len(head) :]:
        if message.role == "user" or not turns:
            turns.append([])
        turns[-1].append(message)
    return head, turns


def _without(
    head: Sequence[Message], turns: Sequence[Sequence[Message]], dropped: int
) -> list[Message]:
    """Return a conversation without its first turns, but with their system messages."""
    return [*head, *filter(_is_system, chain(*turns[:dropped])), *chain(*turns[dropped:])]


def _first_turn(sizes: Sequence[int], budget: int) -> int:
    """Replay the conversation: at each overflow, drop turns until half of the budget is free."""
    first = used = 0
    for last, size in enumerate(sizes):
        used += size
        if used > budget:
            while first < last and used > budget // 2:
                used -= sizes[first]
                first += 1
    return first


def count_tokens(text: str, tokenize: Tokenize, enough: int) -> int:
    """Return how many tokens a text has.

    Once there are more than `enough`, the rest is estimated by its length: a tokeniser takes
    seconds for megabytes.
    """
    if len(text) > SLICE:
        tokens, must_exceed = 0, len(text) > LONGEST_TOKEN * enough
        for end in range(SLICE, len(text) + SLICE, SLICE):
            tokens += len(tokenize(text[end - SLICE : end]))
            if tokens > enough or must_exceed:
                return tokens * len(text) // min(end, len(text))
    return len(tokenize(text))
