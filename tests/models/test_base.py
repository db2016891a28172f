"""`common_prefix`: the number of leading tokens that two texts share."""

import random

from models.base import common_prefix


def test_it_is_what_counting_one_by_one_gives():
    rng = random.Random(1)
    for _ in range(2000):
        a = [rng.randrange(3) for _ in range(rng.randrange(60))]
        b = a[: rng.randrange(len(a) + 1)] + [rng.randrange(3) for _ in range(rng.randrange(9))]
        count = 0
        while count < min(len(a), len(b)) and a[count] == b[count]:
            count += 1
        assert common_prefix(a, b) == common_prefix(b, tuple(a)) == count
