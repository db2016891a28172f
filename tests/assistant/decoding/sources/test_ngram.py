"""What stored answers offer to continue with."""

from assistant.decoding.sources.ngram import Continuation, NgramSource, Tables, learn, strength


def source(*answers, n_vocab=100):
    return NgramSource(Tables(learn(answers)), n_vocab)


def offered(source, *context, room=9):
    run = source.offer(context, room)
    return run.tokens if run else None


def test_a_habit_is_followed_to_its_end():
    habit = source(*[[1, 2, 3, 4, 5]] * 3)
    assert offered(habit, 9, 1, 2) == (3, 4, 5)
    assert offered(habit, 9, 1, 2, room=2) == (3, 4)
    assert offered(habit, 9, 1, 2, room=0) is None


def test_what_is_not_known_is_not_continued():
    habit = source(*[[1, 2, 3, 4]] * 3)
    assert offered(habit, 7, 8) is None
    assert offered(habit, 2) is None
    assert offered(habit) is None
    assert offered(NgramSource(Tables(), 100), 1, 2) is None


def test_what_goes_on_in_different_ways_is_no_habit():
    assert offered(source(*[[1, 2, 3]] * 3, *[[1, 2, 4]] * 2), 1, 2) is None
    assert offered(source(*[[1, 2, 3]] * 8, *[[1, 2, 4]] * 2), 1, 2) == (3,)


def test_a_longer_context_overrules_a_shorter_one():
    habits = source(*[[1, 2, 3]] * 20, *[[7, 1, 2, 4]] * 2)
    assert offered(habits, 7, 1, 2) == (4,)
    assert offered(habits, 6, 1, 2) == (3,)


def test_tokens_that_the_target_lacks_are_never_offered():
    answers = [[1, 2, 3, 100]] * 3
    assert offered(source(*answers), 1, 2) == (3,)
    assert offered(source(*answers, n_vocab=101), 1, 2) == (3, 100)


def test_evidence_tells_how_often_and_how_surely():
    classes = [
        strength(Continuation(0, times, percent)) for percent in (80, 95) for times in (2, 4, 8, 99)
    ]
    assert classes == list(range(8))
    run = source(*[[1, 2, 3, 4]] * 5).offer([1, 2], 9)
    assert run.evidence == (5, 5)
