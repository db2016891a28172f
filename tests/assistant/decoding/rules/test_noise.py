"""`Noise` is a function of seed, position and token, and independent along each of them.

False alarms below 1e-7 each; see `chi_square`.
"""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from assistant.decoding.rules import coupled
from assistant.decoding.rules.coupled import Noise
from tests.assistant.chi_square import agrees

MANY = 8_192
IDS = np.arange(MANY)


def along_tokens(seed):
    return Noise(seed).exponentials(seed + 3, IDS)


def along_positions(seed):
    seeded, ids = Noise(seed), np.array([seed])
    return np.concatenate([seeded.exponentials(position, ids) for position in range(MANY)])


def along_seeds(position):
    ids = np.array([position])
    return np.concatenate([Noise(seed).exponentials(position, ids) for seed in range(MANY)])


def along_diagonals(token):
    """Return the noise of each seed at one position less than the seed before it."""
    ids = np.array([token])
    return np.concatenate([Noise(seed).exponentials(MANY - seed, ids) for seed in range(MANY)])


def cells(numbers, count):
    """Return in which of `count` equally likely intervals each exponential number lies."""
    return np.floor(-np.expm1(-numbers) * count).astype(int)


@pytest.mark.parametrize("along", [along_tokens, along_positions, along_seeds, along_diagonals])
def test_noise_is_exponential_and_neighbours_are_independent(along):
    for start in (0, 7):
        numbers = along(start)
        assert (numbers > 0).all()
        assert agrees(Counter(cells(numbers, 64).tolist()), dict.fromkeys(range(64), 1 / 64))
    for distance in (1, 2, 8, 1024):
        sides = cells(numbers, 8).reshape(-1, 2, distance)
        pairs = zip(sides[:, 0].ravel().tolist(), sides[:, 1].ravel().tolist(), strict=True)
        assert agrees(Counter(pairs), dict.fromkeys(product(range(8), repeat=2), 1 / 64))


def test_token_and_position_are_not_confused():
    of_five = Noise(5)
    table = np.stack([of_five.exponentials(position, IDS[:200]) for position in range(200)])
    assert len(np.unique(table)) == table.size


def test_the_noise_of_a_token_does_not_depend_on_the_other_tokens():
    of_nine = Noise(9)
    alone = [of_nine.exponentials(4, np.array([token]))[0] for token in (0, 17, 151_935)]
    assert of_nine.exponentials(4, np.array([0, 17, 151_935])).tolist() == alone
    assert Noise(9).exponentials(4, np.arange(151_936))[[0, 17, 151_935]].tolist() == alone


def test_any_integer_is_a_seed():
    numbers = [Noise(seed).exponentials(0, IDS[:3])[1] for seed in (0, 1, 2**63, 2**64 - 1)]
    assert len(set(numbers)) == 4
    assert Noise(2**64 + 1).exponentials(0, IDS[:3])[1] == numbers[1]


@pytest.mark.parametrize("word", [0, 1, 2**52, 2**53 - 2, 2**53 - 1])
def test_every_random_word_gives_a_positive_finite_number(monkeypatch, word):
    monkeypatch.setattr(coupled, "_mix", lambda words: np.full_like(words, word << 11))
    (number,) = Noise(1).exponentials(0, np.array([7]))
    assert 0 < number < 40
