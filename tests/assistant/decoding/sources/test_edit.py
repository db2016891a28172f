"""`EditSource`: it proposes the rest of an old text while its new version is written."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.decoding.sources.edit import EDGES, EditSource

OLD = """def best(items, maxc):
    count = 0
    for item in items:
        if item > maxc:
            count = maxc
    return count


def worst(items):
    return sorted(items)[0]


def mean(items):
    total = sum(items)
    return total / len(items)
"""


class Tokens:
    """A vocabulary that grows: names with the blank before them, cut after `size` letters."""

    def __init__(self, size=99):
        self._parts = re.compile(rf" ?\w{{1,{size}}}|\n|.")
        self.pieces = []

    def tokenize(self, text):
        found = [part.encode() for part in self._parts.findall(text)]
        self.pieces += [part for part in dict.fromkeys(found) if part not in self.pieces]
        return [self.pieces.index(part) for part in found]

    def piece(self, token):
        return self.pieces[token]

    def text(self, tokens):
        return b"".join(map(self.piece, tokens)).decode()


def offered(new, old=OLD, budget=8, size=99, ahead=""):
    """Return the text that is offered after a new text; what comes `ahead` is only proposed."""
    known = Tokens(size)
    source, tokens = EditSource(old, 0, known.piece, known.tokenize), known.tokenize(new)
    source.read(tokens)
    run = source.offer([*tokens, *known.tokenize(ahead)], budget)
    return known.text(run.tokens) if run else None


def edited(*replaced, upto):
    """Return the old text, edited, as far as it goes before a passage of its own."""
    text = OLD
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return text[: text.rindex(upto)]


def test_the_unchanged_rest_of_an_old_text_is_offered_to_its_end():
    assert offered("def best(items", budget=200) == OLD.removeprefix("def best(items")
    assert offered(OLD) is None
    assert offered("", old="") is None


def test_the_old_text_goes_on_after_words_that_were_inserted():
    assert offered("def best(items: list") == ", maxc):\n   "
    assert offered("def best(items: list,") == " maxc):\n    count"
    lines = 'def best(items, maxc):\n    """Count."""\n'
    assert offered(lines) == offered(f"{lines}    # Or not.\n") == "    count = 0\n"
    assert offered(f"{lines}    count") == " = 0\n    for"


def test_nothing_is_offered_within_an_insertion():
    assert offered('def best(items, maxc):\n    """Count') is None
    assert offered('def best(items, maxc):\n    """Count what') is None


@pytest.mark.parametrize("size", [99, 3])
def test_a_name_that_was_replaced_is_offered_replaced_whatever_its_tokens_are(size):
    def after(upto):
        return offered(edited(("maxc", "largest"), upto=upto), size=size, budget=4)

    assert after(" largest:").startswith(" largest:")
    assert after("largest\n    return").startswith("largest\n")
    assert after("gest\n    return").startswith("gest\n")


def test_a_name_that_has_begun_is_completed_whatever_blanks_are_before_it():
    assert offered("def best(items,ma", size=2, budget=3) == "xc):"


def test_the_old_text_goes_on_at_once_where_a_name_was_replaced():
    assert offered("def best(items, largest") == "):\n    count "


def test_a_replacement_that_is_not_repeated_is_forgotten():
    once = edited(("items, maxc", "items, largest"), upto=" maxc:")
    assert offered(once, budget=1) == " largest"
    assert offered(f"{once} maxc:\n            count =", budget=1) == " maxc"


def test_a_stretch_that_was_deleted_is_skipped():
    kept = OLD[: OLD.index("def worst")]
    assert offered(f"{kept}def mean") == "(items):\n   "
    assert offered(f"{kept}def mean(items):\n    total", budget=99) == OLD[OLD.index(" = sum") :]


def test_lines_that_are_indented_further_stay_so():
    deeper = edited(("    for", "        for"), upto="        if")
    assert offered(deeper, budget=14) == "            if item "
    assert offered(f"{deeper}            if item > maxc:\n", budget=16) == " " * 16 + "count"


def test_the_position_after_the_alignment_is_preferred():
    old = "".join(f"a = b\n{name} = 1\n" for name in ("one", "two", "three"))
    new = "a = b\none = 1\n"
    assert offered(f"{new}a = b\n", old, 4) == "two = 1"
    assert offered(f"{new}# Here.\n", old, 6) == "a = b\ntwo"


def test_words_before_the_new_text_are_passed_over():
    assert offered("Here is the new version:\n\n```python\n", budget=2) == "def best"


def test_a_replacement_that_is_only_proposed_is_followed_and_not_learnt():
    ahead = ", largest):\n    count = 0\n    for item in items:\n        if item >"
    assert offered("def best(items", ahead=ahead, budget=1) == " maxc"


def test_the_bucket_of_an_edit_is_the_number_of_matching_words():
    known = Tokens()
    source, tokens = EditSource(3 * OLD, 0, known.piece, known.tokenize), known.tokenize(3 * OLD)
    for read in range(1, 150):
        source.read(tokens[:read])
        assert (run := source.offer(tokens[:read], 9))
        assert (buckets := run.buckets) == tuple(sorted(run.buckets))
        assert buckets[0] <= sum(read >= edge for edge in EDGES)
    assert buckets[0] == len(EDGES)
    source.read(new := [*tokens[:150], *known.tokenize(" new")])
    assert ((run := source.offer(new, 1)) and run.buckets) == (0,)


TEXTS = st.text("ab \n(=é", max_size=40)


@given(TEXTS, TEXTS, st.integers(1, 9), st.integers(0, 40))
def test_the_offer_of_an_edit_depends_on_the_tokens_alone(old, new, budget, first):
    known = Tokens(2)
    tokens = known.tokenize(new)
    sources = [EditSource(old, 0, known.piece, known.tokenize) for _ in range(2)]
    sources[0].read(tokens[:first])
    for source in sources:
        source.read(tokens)
    one, other = (source.offer(tokens, budget) for source in sources)
    assert one == other
    assert one is None or 1 <= len(one.tokens) == len(one.buckets) <= budget


def test_nothing_is_offered_inside_a_character_of_several_tokens():
    known = Tokens()
    known.pieces += [b"n", *(bytes([each]) for each in "é".encode())]
    source = EditSource("né = 1\n", 0, known.piece, known.tokenize)
    source.read([0, 1])
    assert source.offer([0, 1], 4) is None
    source.read([0, 1, 2])
    assert (run := source.offer([0, 1, 2], 4))
    assert known.text(run.tokens) == " = 1\n"


def test_a_vocabulary_that_begins_each_text_with_a_blank_spells_what_follows_without_it():
    known = Tokens()
    run = EditSource(OLD, 0, known.piece, lambda text: known.tokenize(f" {text}")).offer([], 3)
    assert run
    assert known.text(run.tokens) == "def best("
