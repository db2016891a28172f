"""The automaton says what searching the text by hand says."""

from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.decoding.sources.suffix import DEPTH, Automaton

# Few different tokens repeat in every way there is.
TEXTS = st.one_of(
    st.lists(st.integers(0, 1), max_size=DEPTH),
    st.lists(st.integers(0, 3), max_size=60),
    st.builds(
        lambda part, times: part * times, st.lists(st.integers(0, 2), max_size=5), st.integers(0, 9)
    ),
)
AHEAD = st.lists(st.integers(0, 4), max_size=6)


def read(text):
    automaton = Automaton()
    for token in text:
        automaton.append(token)
    return automaton


def ends(text, part, before):
    """Return the places behind every occurrence of `part` that ends before a place."""
    return [end for end in range(len(part), before) if text[end - len(part) : end] == part]


def longest(tokens, text, before):
    """Return the longest suffix of `tokens` that occurs in `text` and ends before a place."""
    suffixes = (tokens[start:] for start in range(len(tokens)))
    return next((part for part in suffixes if ends(text, part, before)), [])


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_the_longest_suffix_that_occurred_before_is_known_after_every_token(text):
    automaton = Automaton()
    for count, token in enumerate(text, 1):
        automaton.append(token)
        assert automaton.match.length == len(longest(text[:count], text, count))


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_a_match_occurred_where_it_says(text):
    match = read(text).match
    assert not match.length or match.end in ends(text, text[-match.length :], len(text))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 2), max_size=DEPTH))
def test_the_latest_occurrence_is_found(text):
    match = read(text).match
    part = text[len(text) - match.length :]
    assert not match.length or match.end == ends(text, part, len(text))[-1]


@settings(max_examples=200, deadline=None)
@given(TEXTS, AHEAD)
def test_following_finds_the_longest_suffix_without_reading_it(text, ahead):
    automaton = read(text)
    match = automaton.match
    for count, token in enumerate(ahead, 1):
        match = automaton.follow(match, token)
        tokens = text + ahead[:count]
        found = longest(tokens, text, len(text) + 1)
        assert match.length == len(found)
        assert not match.length or match.end in ends(text, found, len(text) + 1)
    assert automaton.text == text
    assert automaton.match == read(text).match


def test_a_text_of_one_token_has_as_many_states_as_tokens():
    automaton = read([7] * 1000)
    assert len(automaton._link) == 1001
    assert automaton.match.length == 999


def test_a_later_occurrence_replaces_an_earlier_one():
    assert read([1, 2, 3, 1, 2, 4, 1, 2]).match[1:] == (2, 5, 2)
