"""`NgramSource` and its tables, compared with counting by hand."""

import os
from collections import Counter, defaultdict

from hypothesis import example, given, settings
from hypothesis import strategies as st

from assistant.engine.sources.ngram import (
    HEADER,
    LENGTHS,
    MIN_TIMES,
    Continuation,
    NgramSource,
    Tables,
    bucket_of,
    build_tables,
    open_tables,
)

ANSWERS = st.lists(st.lists(st.integers(0, 3), max_size=12), max_size=8)
LARGEST = 2**31 - 1  # token ids are stored as signed 32-bit numbers


def counted(answers):
    """Return how often each token followed each context."""
    result = defaultdict[tuple[int, ...], Counter[int]](Counter)
    for answer in answers:
        for length in LENGTHS:
            for end in range(length, len(answer)):
                result[tuple(answer[end - length : end])][answer[end]] += 1
    return result


@settings(max_examples=200)
@given(ANSWERS)
@example([[LARGEST, 0, LARGEST, 0, LARGEST] * 2])
@example([[5] * 40])
def test_tables_hold_what_followed_most_often(answers):
    expected = counted(answers)
    tables = Tables(build_tables(answers))
    often = {context for context, counts in expected.items() if max(counts.values()) >= MIN_TIMES}
    assert len(tables) == len(often)
    for context in often:
        counts = expected[context]
        assert (found := tables._find(context))
        assert counts[found.token] == found.times == max(counts.values())
        assert found.percent == 100 * found.times // counts.total()


@settings(max_examples=100)
@given(ANSWERS, st.lists(st.integers(0, 3), min_size=max(LENGTHS), max_size=6))
def test_the_longest_context_that_is_known_decides(answers, context):
    tables = Tables(build_tables(answers))
    entries = (tables._find(context[-length:]) for length in sorted(LENGTHS, reverse=True))
    assert tables.find(context) == next((entry for entry in entries if entry), None)


def test_when_there_is_too_much_the_rarest_goes():
    tables = Tables(build_tables([[1, 2, 3]] * 9 + [[4, 5, 6]] * 3, limit=1))
    assert len(tables) == 1
    assert tables.find([1, 2]) == (3, 9, 100)


def test_counts_that_do_not_fit_stay_at_the_largest():
    assert Tables(build_tables([[1] * 70_000 + [2]])).find([1, 1]) == (1, 0xFFFF, 99)


def test_a_file_that_is_not_whole_or_something_else_holds_nothing(tmp_path):
    whole = build_tables([[1, 2, 3]] * 4)
    path = tmp_path / "tables"
    assert len(open_tables(path)) == 0
    for content in (b"", whole[:-1], whole[: HEADER.size], b"x" + whole[1:], whole + b"\0" * 16):
        path.write_bytes(content)
        assert len(open_tables(path)) == 0, content
        assert open_tables(path).find([1, 2]) is None
    assert len(open_tables(tmp_path)) == 0
    path.unlink()
    os.mkfifo(path)  # which nobody writes into
    assert len(open_tables(path)) == 0


def source(*answers, n_vocab=100):
    return NgramSource(n_vocab, Tables(build_tables(answers)))


def offered(source, *context, budget=9):
    run = source.offer(context, budget)
    return run.tokens if run else None


def test_a_habit_is_followed_to_its_end():
    habit = source(*[[1, 2, 3, 4, 5]] * 3)
    assert offered(habit, 9, 1, 2) == (3, 4, 5)
    assert offered(habit, 9, 1, 2, budget=2) == (3, 4)
    assert offered(habit, 9, 1, 2, budget=0) is None


def test_an_unknown_context_is_not_continued():
    habit = source(*[[1, 2, 3, 4]] * 3)
    assert offered(habit, 7, 8) is None
    assert offered(habit, 2) is None
    assert offered(habit) is None
    assert offered(NgramSource(100), 1, 2) is offered(NgramSource(100, Tables()), 1, 2) is None


def test_a_context_with_different_continuations_is_no_habit():
    assert offered(source(*[[1, 2, 3]] * 3, *[[1, 2, 4]] * 2), 1, 2) is None
    assert offered(source(*[[1, 2, 3]] * 8, *[[1, 2, 4]] * 2), 1, 2) == (3,)


def test_a_longer_context_overrules_a_shorter_one():
    habits = source(*[[1, 2, 3]] * 20, *[[7, 1, 2, 4]] * 2)
    assert offered(habits, 7, 1, 2) == (4,)
    assert offered(habits, 6, 1, 2) == (3,)


def test_the_first_tables_decide_where_they_know_the_context_at_all():
    own = Tables(build_tables([[1, 2, 3]] * 2))
    others = Tables(build_tables([[1, 2, 4]] * 9 + [[2, 3, 5]] * 9))
    assert offered(NgramSource(100, own, others), 1, 2) == (3, 5)
    assert offered(NgramSource(100, others, own), 1, 2) == (4,)


def test_tokens_that_the_target_lacks_are_never_offered():
    answers = [[1, 2, 3, 100]] * 3
    assert offered(source(*answers), 1, 2) == (3,)
    assert offered(source(*answers, n_vocab=101), 1, 2) == (3, 100)


def test_evidence_tells_how_often_and_how_surely():
    classes = [
        bucket_of(Continuation(0, n, percent)) for percent in (80, 95) for n in (2, 4, 8, 99)
    ]
    assert classes == list(range(8))
    assert source(*[[1, 2, 3, 4]] * 5).offer([1, 2], 9).buckets == (5, 5)
