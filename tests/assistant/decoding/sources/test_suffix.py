"""`SuffixSource` proposes what followed the same tokens before; `Automaton` finds them."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from assistant.decoding.sources.suffix import (
    DEPTH,
    EDGES,
    SHORTEST,
    UNMISTAKABLE,
    Automaton,
    SuffixMatch,
    SuffixSource,
    match_bucket,
)

# Few different tokens repeat in every way there is.
TEXTS = st.one_of(
    st.lists(st.integers(0, 1), max_size=DEPTH),
    st.lists(st.integers(0, 3), max_size=60),
    st.builds(
        lambda part, times: part * times, st.lists(st.integers(0, 2), max_size=5), st.integers(0, 9)
    ),
)


def read(text):
    automaton = Automaton()
    for token in text:
        automaton.append(token)
    return automaton


def ends(text, part, before):
    """Return the positions after every occurrence of `part` that ends before a position."""
    return [end for end in range(len(part), before) if text[end - len(part) : end] == part]


def longest(tokens, text, before):
    """Return the longest suffix of `tokens` that occurs in `text` and ends before a position."""
    suffixes = (tokens[start:] for start in range(len(tokens)))
    return next((part for part in suffixes if ends(text, part, before)), [])


@settings(max_examples=200)
@given(TEXTS)
def test_the_longest_suffix_that_occurred_before_is_known_after_every_token(text):
    automaton = Automaton()
    for count, token in enumerate(text, 1):
        automaton.append(token)
        assert automaton.match.length == len(longest(text[:count], text, count))


@settings(max_examples=200)
@given(st.lists(st.integers(0, 2), max_size=DEPTH))
def test_the_latest_occurrence_is_found(text):
    match = read(text).match
    part = text[len(text) - match.length :]
    assert not match.length or match.end == ends(text, part, len(text))[-1]


def test_a_text_of_one_token_has_as_many_states_as_tokens():
    automaton = read([7] * 1000)
    assert len(automaton._link) == 1001
    assert automaton.match.length == 999


TEXTS = st.lists(st.integers(0, 2), max_size=40)


def offered(tokens, budget=4, ahead=()):
    source = SuffixSource()
    source.read(tokens)
    return source.offer([*tokens, *ahead], budget)


def test_an_empty_budget_gets_no_offer():
    assert offered([1, 2, 1, 2], budget=0) is None


def match(length, followers=1):
    return SuffixMatch(0, length, 0, followers)


def test_buckets_grow_along_a_run():
    buckets = offered([*range(60), *range(30)], budget=8).buckets
    assert buckets == (
        match_bucket(match(30)),
        match_bucket(match(31)),
        *[match_bucket(match(32))] * 6,
    )
    assert buckets[-1] > buckets[0] > 0
    assert match_bucket(match(10**6)) == len(EDGES)


def test_where_different_tokens_followed_the_latest_counts_if_the_repetition_is_long():
    assert offered([1, 2, 3, 1, 2, 4, 1, 2]) is None
    same = [*range(10, 10 + UNMISTAKABLE)]
    run = offered([*same, 1, *same, 2, *same], budget=2)
    assert (run.tokens, run.buckets) == ((2, same[0]), (0, match_bucket(match(UNMISTAKABLE + 1))))


@settings(max_examples=200)
@given(TEXTS, st.lists(st.integers(0, 3), max_size=4), st.integers(1, 9))
@example([0, 0, 0], [1, 0, 0], 1)  # the latest occurrence is followed by what is proposed
def test_every_token_offered_followed_the_longest_repetition(text, ahead, budget):
    run = offered(text, budget, ahead)
    context, before = text + ahead, len(text) + bool(ahead)
    for token in run.tokens if run else ():
        part = longest(context, text, before)
        assert token in {context[end] for end in ends(text, part, before)}
        assert is_telling(part, text)
        context, before = [*context, token], len(text) + 1
    if not run or len(run.tokens) < budget:
        assert not is_telling(longest(context, text, before), text)


def is_telling(part, text):
    followed = {text[end] for end in ends(text, part, len(text))}
    return len(part) >= (SHORTEST if len(followed) < 2 else UNMISTAKABLE)


@settings(max_examples=100)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_reading_in_parts_equals_reading_at_once(texts):
    source = SuffixSource()
    context = []
    for text in texts:
        context += text
        source.read(context)
    assert source.offer(context, 5) == offered(context, 5)


@settings(max_examples=100)
@given(TEXTS, TEXTS)
def test_another_conversation_replaces_the_one_before(one, other):
    source = SuffixSource()
    source.read(one)
    source.read(other)
    assert source.offer(other, 5) == offered(other, 5)


def test_offering_changes_nothing():
    source = SuffixSource()
    source.read([1, 2, 3, 1, 2])
    before = source.offer([1, 2, 3, 1, 2], 4)
    source.offer([1, 2, 3, 1, 2, 9, 9], 4)
    assert source.offer([1, 2, 3, 1, 2], 4) == before


def test_an_infill_is_proposed_from_the_text_before_its_gap():
    before, after, mark = [1, 2, 3, 4, 1, 2], [7, 8, 9], 99
    source, prompt = SuffixSource([*after, *before], 10), [*before, *after, mark]
    for answer, expected in ([], (3, 4)), ([7, 8], (9, 1)):
        source.read([*prompt, *answer])
        run = source.offer([*prompt, *answer], 2)
        assert run is not None
        assert run.tokens == expected
