"""The law of answers whose thought is ended by force, by exact enumeration of `Rounds`.

It is that of ArS with the same forcing, whoever proposes, and wherever in a round the budget ends.
"""

from itertools import pairwise
from types import SimpleNamespace

import pytest

from assistant.chat.thinking import PartPosition, find_markers
from assistant.chat.thought_end import ThoughtBudget
from assistant.decoding.lookahead.policy import Control, Policy
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.forced import ForcedSource
from assistant.decoding.sources.suffix import SuffixSource
from assistant.engine.decoding_sequence import DecodingSequence
from assistant.engine.rounds import Rounds
from assistant.lab.prove.law import distance, law
from tests.exact.exact_rows import keep_all, row_of
from tests.exact.test_exact_rounds import START, by_every_rule
from tests.exact.toy import Toy, chain_rule
from tests.exact.toy_sources import modelled_by

CLOSING = (1, 0)
MARKERS = find_markers("</think>", lambda text: False)
SPELT = ("ink>", "</th", "hm")
"""So the first two tokens end a thought where they follow one another, in that order."""


def budget(tokens):
    at = PartPosition("thought")
    return ThoughtBudget(MARKERS, SPELT.__getitem__, at, len(START), tokens, CLOSING)


def by_definition(tokens):
    """Return the warp that ends a thought after so many tokens, written down for this toy."""

    def forced_or_kept(logits, history):
        answer = [*history[len(START) :]]
        place = len(answer) - tokens
        over = (1, 0) in pairwise(answer[:tokens])
        if over or not 0 <= place < len(CLOSING) or (1, 0) in pairwise(answer):
            return keep_all(logits, history)
        return row_of([int(token == CLOSING[place]) for token in range(len(logits))])

    return forced_or_kept


def said(target, drafter, rule, forced, length, lookahead, lookaheads):
    text, policy = list(START), Policy(Control("sps", lookahead), None)
    under_way = SimpleNamespace(generated_tokens=1)
    answer = SimpleNamespace(stats=under_way, stop=None, tokens_left=99)
    sequence = DecodingSequence(0, text, answer, drafter, rule)
    rounds = iter(Rounds(target, [sequence], policy, keep_all, lambda: 0.0, forced))
    while len(text) < len(START) + length:
        lookaheads.add(next(rounds).round.proposed)
    return tuple(text[len(START) :][:length])


@by_every_rule
@pytest.mark.parametrize("sources", ["model", "forced, suffix, model"])
@pytest.mark.parametrize(("n_vocab", "tokens", "lookahead", "length"), [(2, 1, 2, 4), (3, 0, 1, 3)])
def test_a_thought_that_is_ended_by_force_has_the_law_of_ars_with_the_same_forcing(
    rule, sources, n_vocab, tokens, lookahead, length
):
    target, lookaheads = Toy(n_vocab, 3), set()

    def run(rng):
        forced = budget(tokens).forced
        kinds = {
            "forced": ForcedSource(forced),
            "suffix": SuffixSource(),
            "model": modelled_by(Toy(n_vocab, 8), n_vocab),
        }
        drafter = Cascade(*(kinds[name] for name in sources.split(", ")))
        return said(target, drafter, rule(rng), forced, length, lookahead, lookaheads)

    expected = chain_rule(target, length, by_definition(tokens), START)
    assert distance(law(run), expected) == 0
    assert lookahead in lookaheads


def test_what_is_forced_costs_no_evaluation_of_its_own():
    forced = budget(3).forced
    source = ForcedSource(forced)
    assert source.offer([*START, 2, 2], 4) is None
    assert source.offer([*START, 2, 2, 2], 4).tokens == CLOSING
    assert source.offer([*START, 2, 2, 2], 1).tokens == CLOSING[:1]
    assert source.offer([*START, 2, 2, 2, 1], 4).tokens == CLOSING[1:]
