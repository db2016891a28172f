"""The law of answers whose thoughts are ended by force, by exact enumeration of `Rounds`.

It is that of ArS with the same forcing, whoever proposes, and wherever in a round a budget ends; a
form that begins after the thought has the law of masked ArS.
"""

from functools import cache

import pytest

from assistant.constraints.grammar import matcher_of
from assistant.decoding.sources.draft import Cascade
from assistant.decoding.sources.suffix import SuffixSource
from assistant.engine.sources.certain import ConstraintSource, ForcedSource
from assistant.prompt.thoughts import (
    FAMILIES,
    AnswerBeginning,
    PartPosition,
    ThoughtReader,
    find_markers,
)
from assistant.request import Constraint
from assistant.streamed_text import TokenText
from tests.assistant.constraints.word_vocabulary import WordVocabulary
from tests.exact.answer import ExactMask, by_every_rule, decoded
from tests.exact.exact_rows import keep_all, row_of
from tests.exact.law import distance, law
from tests.exact.toy import Toy, best_two, chain_rule
from tests.exact.toy_sources import modelled_by

PROMPT = (1,)
THINK = find_markers("</think>", lambda text: False)
AGAIN = FAMILIES[1]  # Gemma 4's
FIRST = (b"ink>", b"</th", b"hm"), (1, 0)  # spelt so that 1, 0 ends the thought
COMES_AGAIN = (b"<|channel>thought\n", b"<channel|>", b"hm"), (1,)  # 0 begins one, 1 ends it


def reader(markers, budget):
    spelt, closing = FIRST if markers is THINK else COMES_AGAIN
    text, at = TokenText(spelt.__getitem__), PartPosition("thought")
    return ThoughtReader(AnswerBeginning(text, markers, at, len(PROMPT)), closing, budget)


def thinks(markers, answer):
    """Return whether an answer is in a thought, and how much of it was, written for these toys."""
    thought, within = 0, True
    for place, token in enumerate(answer):
        thought += within
        if markers is AGAIN:
            within = token == 0 or (within and token == 2)
        else:
            within = within and not (token == 0 and [*answer[:place]][-1:] == [1])
    return within, thought


def by_definition(markers, budget):
    """Return the warp that ends a thought after so many tokens, and that many of all thoughts."""

    def forced_or_kept(logits, history):
        answer = history[len(PROMPT) :]
        within, thought = thinks(markers, answer)
        if not within or thought < budget:
            return keep_all(logits, history)
        begun = markers is THINK and len(answer) > 0 and answer[-1] == 1
        return row_of([int(token == (0 if begun else 1)) for token in range(len(logits))])

    return forced_or_kept


def first_tokens(
    target, rule, thoughts, sources, context, length, lookahead, warp=keep_all, form=None
):
    """Return the next tokens of an answer under way."""
    text, plan = list(context), ("sps", lookahead)
    mask = form and form(text, thoughts.answer_start)
    drafter = Cascade(*(source(mask) for source in sources), mask=mask)
    held = {"mask": mask, "forced": thoughts.forced_token}
    return decoded(target, rule, drafter, text, length, plan, warp, **held)[0]


def model(n_vocab, style="full"):
    return lambda mask: modelled_by(Toy(n_vocab, 8, style), n_vocab)


@by_every_rule
@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize(
    ("markers", "n_vocab", "begun", "budget", "lookahead", "length"),
    [
        (THINK, 2, (), 1, 2, 4),
        (THINK, 3, (), 0, 1, 3),
        (THINK, 2, (0, 0), 1, 2, 4),  # stopped within its thought, and continued with less
        (THINK, 2, (0, 1), 0, 2, 4),  # within the marker
        (AGAIN, 3, (2, 2, 1), 1, 1, 3),  # a thought comes again
        (AGAIN, 3, (2, 1, 0), 2, 2, 2),
    ],
)
def test_a_forced_end_of_a_thought_has_the_law_of_ars(
    rule, copies, markers, n_vocab, begun, budget, lookahead, length
):
    target, context = Toy(n_vocab, 3), (*PROMPT, *begun)

    def run(rng):
        thoughts = reader(markers, budget)
        forced = [lambda mask: ForcedSource(thoughts.forced_token), lambda mask: SuffixSource()]
        sources = [*(forced if copies else ()), model(n_vocab)]
        return first_tokens(target, rule(rng), thoughts, sources, context, length, lookahead)

    expected = chain_rule(target, length, by_definition(markers, budget), context)
    assert distance(law(run), expected) == 0


WORDS = WordVocabulary("a", "b", "</think>", single=False)
END = 2


@cache
def matcher():
    return matcher_of(Constraint("regex", "ab?a"), WORDS.tokenizer())


def form_mask(text, start):
    return ExactMask(matcher().deep_copy(), WORDS.tokenizer(), frozenset({WORDS.stop}), text, start)


def after_the_thought(context):
    return context.index(END) + 1 if END in context else None


def masked_by_definition(budget):
    def masked(logits, history):
        history = list(history)
        if END not in history and len(history) - len(PROMPT) == budget:
            return row_of([int(token == END) for token in range(len(logits))])
        return best_two(form_mask([], after_the_thought).masked(logits, history), history)

    return masked


@by_every_rule
@pytest.mark.parametrize("sources", [[model(4, "zeros")], [ConstraintSource, model(4, "zeros")]])
@pytest.mark.parametrize("budget", [None, 1])
def test_a_form_that_begins_where_a_thought_ends_has_the_law_of_masked_ars(rule, sources, budget):
    target = Toy(4, 3)

    def run(rng):
        at = PartPosition("thought")
        beginning = AnswerBeginning(TokenText(WORDS.piece), THINK, at, len(PROMPT))
        thoughts = ThoughtReader(beginning, (END,), budget)
        return first_tokens(target, rule(rng), thoughts, sources, PROMPT, 3, 2, best_two, form_mask)

    assert distance(law(run), chain_rule(target, 3, masked_by_definition(budget), PROMPT)) == 0


def test_a_forced_token_costs_no_evaluation_of_its_own():
    source = ForcedSource(reader(THINK, 3).forced_token)
    assert source.offer([*PROMPT, 2, 2], 4) is None
    for text, budget, forced in (
        ((2, 2, 2), 4, (1, 0)), ((2, 2, 2), 1, (1,)), ((2, 2, 2, 1), 4, (0,)), ((2, 2, 1), 4, (0,)),
    ):  # fmt: skip
        run = source.offer([*PROMPT, *text], budget)
        assert (run and run.tokens) == forced
