"""Small Python problems with tests, written for this, in the form of HumanEval (Chen et al. 2021).

Each has the beginning of a module, which ends with a function's docstring; a test defines
`check(candidate)`.
"""

from assistant.lab.bench.questions import COMPLETE, Question

_PROBLEMS: tuple[tuple[str, str, str], ...] = (
    (
        "longest_plateau",
        '''def longest_plateau(values: list[int]) -> int:
    """Return how many equal values stand side by side at most; 0 for an empty list.

    >>> longest_plateau([1, 1, 2, 2, 2, 1])
    3
    """
''',
        """def check(candidate):
    assert candidate([]) == 0
    assert candidate([4]) == 1
    assert candidate([1, 1, 2, 2, 2, 1]) == 3
    assert candidate([1, 2, 1, 2]) == 1
    assert candidate([5, 5, 5]) == 3
""",
    ),
    (
        "opening_hours",
        '''def opening_hours(text: str) -> int:
    """Return how many minutes lie between two times of a day, as in "9:40-13:05".

    >>> opening_hours("9:40-13:05")
    205
    """
''',
        """def check(candidate):
    assert candidate("9:40-13:05") == 205
    assert candidate("00:00-23:59") == 1439
    assert candidate("8:00-8:00") == 0
    assert candidate("10:05-11:04") == 59
""",
    ),
    (
        "merge_sorted",
        '''def merge_sorted(first: list[int], second: list[int]) -> list[int]:
    """Return the values of two ascending lists as one ascending list without repetitions.

    >>> merge_sorted([1, 3, 3], [2, 3])
    [1, 2, 3]
    """
''',
        """def check(candidate):
    assert candidate([], []) == []
    assert candidate([1, 3, 3], [2, 3]) == [1, 2, 3]
    assert candidate([5], [1, 1]) == [1, 5]
    assert candidate([-2, 0], []) == [-2, 0]
""",
    ),
    (
        "initials",
        '''def initials(name: str) -> str:
    """Return the initials of a name in capitals, each followed by a full stop.

    >>> initials("ada byron king")
    'A.B.K.'
    """
''',
        """def check(candidate):
    assert candidate("ada byron king") == "A.B.K."
    assert candidate("Marit Holm") == "M.H."
    assert candidate("") == ""
    assert candidate("  jan   eyck ") == "J.E."
""",
    ),
    (
        "change",
        '''def change(amount: int, coins: list[int]) -> int:
    """Return the fewest coins that make up `amount`, or -1 if none do.

    >>> change(11, [1, 2, 5])
    3
    """
''',
        """def check(candidate):
    assert candidate(11, [1, 2, 5]) == 3
    assert candidate(0, [2]) == 0
    assert candidate(3, [2]) == -1
    assert candidate(6, [1, 3, 4]) == 2
""",
    ),
    (
        "is_balanced",
        '''def is_balanced(text: str) -> bool:
    """Say whether the brackets (), [] and {} in a text are closed in the right order.

    >>> is_balanced("f(a[1], {2})")
    True
    >>> is_balanced("(]")
    False
    """
''',
        """def check(candidate):
    assert candidate("f(a[1], {2})") is True
    assert candidate("(]") is False
    assert candidate("") is True
    assert candidate("(()") is False
    assert candidate("())(") is False
""",
    ),
    (
        "most_common_word",
        '''def most_common_word(text: str) -> str:
    """Return the word that occurs most often, in small letters; among equals the first to come.

    Words consist of letters; everything else separates them.

    >>> most_common_word("The storm, the long storm!")
    'the'
    """
''',
        """def check(candidate):
    assert candidate("The storm, the long storm!") == "the"
    assert candidate("one") == "one"
    assert candidate("b a, A b.") == "b"
    assert candidate("x-y x") == "x"
""",
    ),
    (
        "rotate",
        '''def rotate(matrix: list[list[int]]) -> list[list[int]]:
    """Return a rectangular matrix turned a quarter clockwise; the argument stays as it is.

    >>> rotate([[1, 2], [3, 4]])
    [[3, 1], [4, 2]]
    """
''',
        """def check(candidate):
    matrix = [[1, 2], [3, 4]]
    assert [list(row) for row in candidate(matrix)] == [[3, 1], [4, 2]]
    assert matrix == [[1, 2], [3, 4]]
    assert [list(row) for row in candidate([[1, 2, 3]])] == [[1], [2], [3]]
""",
    ),
)

SOLUTIONS = {
    "longest_plateau": "import itertools\n\ndef longest_plateau(values):\n"
    "    return max((len(list(g)) for _, g in itertools.groupby(values)), default=0)\n",
    "opening_hours": "def opening_hours(text):\n"
    "    (a, b), (c, d) = (map(int, t.split(':')) for t in text.split('-'))\n"
    "    return 60 * (c - a) + d - b\n",
    "merge_sorted": "def merge_sorted(first, second):\n    return sorted({*first, *second})\n",
    "initials": "def initials(name):\n"
    "    return ''.join(f'{word[0].upper()}.' for word in name.split())\n",
    "change": "def change(amount, coins):\n    fewest = {0: 0}\n"
    "    for total in range(1, amount + 1):\n"
    "        ways = [fewest[total - c] for c in coins if total - c in fewest]\n"
    "        if ways:\n            fewest[total] = 1 + min(ways)\n"
    "    return fewest.get(amount, -1)\n",
    "is_balanced": "def is_balanced(text):\n    pairs, open_ = {')': '(', ']': '[', '}': '{'}, []\n"
    "    for c in text:\n        if c in '([{':\n            open_.append(c)\n"
    "        elif c in pairs and (not open_ or open_.pop() != pairs[c]):\n"
    "            return False\n    return not open_\n",
    "most_common_word": "import re\nfrom collections import Counter\n\n"
    "def most_common_word(text):\n"
    "    return Counter(re.findall(r'[a-z]+', text.lower())).most_common(1)[0][0]\n",
    "rotate": "def rotate(matrix):\n    return [list(row) for row in zip(*matrix[::-1])]\n",
}
"""What passes, so that a problem nobody could solve would show."""

PROBLEMS = tuple(
    Question(f"code/{name}", "code", COMPLETE.format(code=code.strip()), None, code, test, name)
    for name, code, test in _PROBLEMS
)
