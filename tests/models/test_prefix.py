"""The common beginning of two contexts."""

import random

from models.prefix import shared


def test_shared_counts_the_common_beginning():
    others = ([], [1], [1, 2, 3, 4], [2], [1, 9], (1, 2), (1, 2, 9))
    assert [shared([1, 2, 3], other) for other in others] == [0, 1, 3, 0, 1, 2, 2]
    assert shared((1, 2), [1, 2]) == 2
    assert shared((), []) == 0


def test_it_is_what_counting_one_by_one_gives():
    rng = random.Random(1)
    for _ in range(2000):
        a = [rng.randrange(3) for _ in range(rng.randrange(60))]
        b = a[: rng.randrange(len(a) + 1)] + [rng.randrange(3) for _ in range(rng.randrange(9))]
        count = 0
        while count < min(len(a), len(b)) and a[count] == b[count]:
            count += 1
        assert shared(a, b) == shared(b, tuple(a)) == count
