"""The law of answers with a form, by exact enumeration of `Rounds`: that of masked ArS.

The mask is the shipped one, over a grammar and a vocabulary of four tokens; only what it writes
into logits is 0 here, as a toy's logits are probabilities.
"""

from functools import cache, partial

import pytest

from assistant.constraints.grammar import matcher_of
from assistant.decoding.sources.draft import Cascade
from assistant.decoding.sources.suffix import SuffixSource
from assistant.engine.sources.certain import ConstraintSource
from assistant.request import Constraint
from models.errors import UsageError
from tests.assistant.constraints.word_vocabulary import WordVocabulary
from tests.exact.answer import START, ExactMask, by_every_rule, decoded, masked_law
from tests.exact.coupling import Coupled, Numbers
from tests.exact.law import distance, law
from tests.exact.toy import Toy, best_two, chain_rule, repeats_halved
from tests.exact.toy_sources import Parrot, modelled_by

FORMS = ("[ab]b?a{1,2}", "(ab|ba)*aab", "b(a|bb)(ab)*")


@cache
def tokenizer():
    return WordVocabulary("a", "b", "ab", single=False).tokenizer()


@cache
def matcher(form):
    return matcher_of(Constraint("regex", form), tokenizer())


def mask_of(form, tokens):
    return ExactMask(
        matcher(form).deep_copy(), tokenizer(), frozenset({3}), tokens, lambda context: len(START)
    )


def first_tokens(form, rule, warp, length, sources, target, plan=("sps", 2)):
    """Return the first tokens of an answer that has a form."""
    tokens = list(START)
    mask = mask_of(form, tokens)
    drafter = Cascade(*(source(mask) for source in sources), mask=mask)
    return decoded(target, rule, drafter, tokens, length, plan, warp, mask=mask)[0]


def expected(form, warp, length, target):
    """Return the law of masked ArS by definition."""
    return masked_law(partial(mask_of, form), warp, length, target)


def model(seed):
    return lambda mask: modelled_by(Toy(4, seed, "zeros"), 4)


SOURCES = {
    "nobody": [],
    "model": [model(5)],
    "form": [ConstraintSource],
    "form, parrot, model": [ConstraintSource, lambda mask: Parrot(4, 2), model(6)],
    "parrot": [lambda mask: Parrot(4, 1)],
    "suffix, model": [lambda mask: SuffixSource(), model(7)],
}


@pytest.mark.some(29)
@by_every_rule
@pytest.mark.parametrize("warp", [best_two, repeats_halved])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sources", SOURCES)
def test_an_answer_with_a_form_has_the_law_of_masked_ars(rule, warp, form, sources):
    target, who = Toy(4, 3), SOURCES[sources]
    found = law(lambda rng: first_tokens(form, rule(rng), warp, 3, who, target))
    assert distance(found, expected(form, warp, 3, target)) == 0


def test_with_a_seed_an_answer_with_a_form_is_that_of_masked_ars():
    target, who = Toy(4, 4), SOURCES["form, parrot, model"]

    def run(rng):
        rule = Coupled(Numbers(rng))
        plain = first_tokens(FORMS[0], rule, best_two, 2, [], target, ("ars", None))
        return plain == first_tokens(FORMS[0], rule, best_two, 2, who, target)

    assert law(run) == {True: 1}


def test_masks_matter_here_before_the_warp_and_after_each_token():
    """Otherwise the laws above could not tell."""
    target = Toy(4, 3)
    free = chain_rule(target, 3, best_two, START)
    for form in FORMS:
        assert distance(expected(form, best_two, 3, target), free) > 0


@by_every_rule
def test_a_form_leaves_no_token_as_often_as_in_masked_ars(rule):
    """The target gives no probability to what the form allows after some tokens."""
    target, draft, end = Toy(4, 8, "zeros"), modelled_by(Toy(4, 1), 4), len(START) + 3

    def run(sources, plan, rng):
        tokens = list(START)
        mask = mask_of(FORMS[0], tokens)
        drafter = Cascade(*sources, mask=mask)
        try:
            decoded(target, rule(rng), drafter, tokens, 3, plan, best_two, mask=mask, limit=end)
        except UsageError:
            return None
        return tuple(tokens)

    ars, sps = law(partial(run, [], ("ars", None))), law(partial(run, [draft], ("sps", 2)))
    assert distance(sps, ars) == 0
    assert 0 < ars[None] < 1
