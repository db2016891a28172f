"""The law of answers that may call tools, by exact enumeration of `Rounds`: that of masked ArS.

One of the five tokens is the end of a text and the beginning of a call at once.
"""

from functools import cache, partial
from unittest.mock import patch

import pytest

from assistant.calling.formats import CallFormat
from assistant.constraints.constraints import Constraints
from assistant.decoding.sources.draft import Cascade
from assistant.engine.sources.certain import ConstraintSource
from assistant.request import Message, Request, Tool
from tests.assistant.constraints.word_vocabulary import WordVocabulary
from tests.exact.answer import START, ExactMask, by_every_rule, decoded, masked_law
from tests.exact.exact_rows import keep_all
from tests.exact.law import distance, law
from tests.exact.toy import Toy, best_two
from tests.exact.toy_sources import Parrot, modelled_by

WORDS = WordVocabulary("a", "a<f:", "{}", ">", single=False)
FORM = CallFormat("<", "<", ":", ">")
LENGTH = 3
SOURCES = {
    "nobody": [],
    "model": [lambda mask: model_of(5)],
    "form, parrot, model": [ConstraintSource, lambda mask: Parrot(5, 2), lambda mask: model_of(6)],
}


def model_of(seed):
    return modelled_by(Toy(5, seed, "zeros"), 5)


@cache
def forms(choice):
    with patch("assistant.constraints.grammar.SAMPLE", "a"):
        return Constraints(WORDS, WORDS.size)


def mask_of(choice, tokens):
    tool = Tool("f", "", '{"type": "object", "properties": {}}')
    request = Request((Message("user", "?"),), tools=(tool,), tool_choice=choice)
    shipped, _ = forms(choice).call_mask(FORM, request, tokens, lambda context: len(START))
    exact = ExactMask.__new__(ExactMask)
    exact.__dict__.update(shipped.__dict__)
    return exact


def first_tokens(choice, rule, sources, target):
    """Return the first tokens of an answer that may call a tool."""
    tokens = list(START)
    mask = mask_of(choice, tokens)
    drafter = Cascade(*(source(mask) for source in sources), mask=mask)
    return decoded(target, rule, drafter, tokens, LENGTH, warp=best_two, mask=mask)[0]


def expected(choice, target, warp=best_two):
    """Return the law of masked ArS by definition."""
    return masked_law(partial(mask_of, choice), warp, LENGTH, target)


@by_every_rule
@pytest.mark.parametrize("choice", ["auto", "none"])
@pytest.mark.parametrize("sources", SOURCES)
def test_an_answer_that_may_call_has_the_law_of_masked_ars(rule, choice, sources):
    target = Toy(5, 3)
    found = law(lambda rng: first_tokens(choice, rule(rng), SOURCES[sources], target))
    assert distance(found, expected(choice, target)) == 0


def test_the_text_is_free_until_the_token_that_begins_a_call():
    """By the law itself: what comes before calls, in them and after them."""
    forms.cache_clear()
    a, begins, braces, closes, stop = range(5)
    every = Toy(5, 0, "uniform")
    auto = {ids for ids, chance in expected("auto", every, keep_all).items() if chance}
    none = {ids for ids, chance in expected("none", every, keep_all).items() if chance}
    assert (a, begins, braces) in auto
    assert (begins, braces, closes) in auto
    assert {tokens[1] for tokens in auto if tokens[0] == begins} == {braces}
    assert (a, closes, braces) in none & auto
    assert (a, stop, stop) in none & auto
    assert not any(begins in tokens for tokens in none)
