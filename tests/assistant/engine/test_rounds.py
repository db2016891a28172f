"""The rounds of an answer as they are planned, and several answers to one request."""

from dataclasses import replace

import numpy as np
import pytest

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.engine.policy import Control, Policy
from assistant.engine.reply import rule_of, warp_of
from assistant.engine.rounds import Rounds
from assistant.events import Answered, Decoded, Finished, Noticed, OneOf, Prepared, Reason, Stop
from assistant.request import Message, Sampling
from tests import tiny
from tests.assistant.engine.pressing import CHOSEN, Counting, Pressed, greedy
from tests.assistant.engine.test_assistant import QUESTION, ask, opened
from tests.exact.exact_rows import keep_all
from tests.exact.law import law
from tests.exact.toy import Toy, chain_rule
from tests.exact.toy_sources import modelled

CHEAP = {1: 1.0, 4: 1.1, 8: 1.2, 16: 1.4, 32: 2.0}  # a machine where proposals cost next to nothing


@pytest.mark.parametrize("rule", [TokenRule, BlockRule])
def test_an_answer_that_the_controller_plans_has_the_law_of_the_target(rule):
    """By enumeration, without tolerance: on a machine of paper, whose clock stands still."""
    target, length, lookaheads = Toy(2, 3), 3, set()

    def run(rng):
        controller = Controller(Costs(CHEAP, {1: 0.05, 8: 0.06, 512: 24.0}))
        text, drafter = [1], modelled(Toy(2, 4), 2)
        policy, still = Policy(Control(), controller), {"limit": 1 + length, "clock": lambda: 0.0}
        for round_, _ in Rounds(target, text, drafter, rule(rng), keep_all, policy, **still):
            lookaheads.add(round_.proposed)
        return tuple(text[1:][:length])

    assert law(run) == chain_rule(target, length, start=[1])
    assert max(lookaheads) > 0


def test_a_key_that_is_pressed_within_a_round_takes_effect_in_the_next():
    """Any order of keys: each reason is that of the round's own draft."""
    control, tokens = Control("auto"), [*range(50)] * 4
    policy, drafter = Policy(control, Controller(Costs(CHEAP, {}))), Cascade(Pressed(control))
    reasons = set()
    for round_, forecast in Rounds(Counting(), tokens, drafter, CoupledRule(0), greedy, policy):
        assert round_.proposed in CHOSEN.get(forecast.reason, range(32)), forecast.reason
        reasons.add(forecast.reason)
        if forecast.reason is Reason.ARS:  # no source is asked, so none presses
            control.mode = "auto"
        if len(tokens) > 2000:
            break
    assert reasons > CHOSEN.keys()


def test_an_answer_that_nothing_can_propose_to_says_so():
    rounds = Rounds(Toy(2, 3), [1], Cascade(), CoupledRule(0), greedy, Policy(Control("sps"), None))
    assert next(iter(rounds)).forecast.reason is Reason.NO_SOURCE


def test_a_sampling_that_a_key_changes_counts_from_the_next_row_until_it_is_taken_back():
    control, logits = Control("ars"), np.arange(3, dtype=np.float32)
    warped = warp_of(ask(sampling=Sampling(1, 0, 1)), control)
    for changed, kept in ((None, 3), (Sampling(0), 1), (Sampling(1, 2, 1), 2), (None, 3)):
        control.sampling = changed
        assert len(warped(logits, []).ids) == kept


def told(pair, request):
    """Return the events of several answers."""
    assistant, control = pair
    control.mode, control.lookahead = request.mode, request.lookahead
    return list(assistant.replies(request, control))


def ends(events):
    """Return how the answers ended, one after another, each after all it said."""
    said = [event for event in events if isinstance(event, OneOf)]
    assert [each.answer for each in said] == sorted(each.answer for each in said)
    ended = [each.answer for each in said if isinstance(each.event, Finished)]
    assert ended == [*range(len(ended))]
    assert isinstance(events[-1], Answered)
    return [each.event for each in said if isinstance(each.event, Finished)]


@pytest.mark.parametrize("mode", ["ars", "sps"])
def test_with_a_seed_each_answer_is_the_one_that_its_own_seed_gives_alone(tmp_path, mode):
    path = tiny.write(tmp_path / "t.gguf", seed=1, stops=True)
    with opened(path, tiny.write(tmp_path / "d.gguf", seed=2, like=1)) as pair:
        request = ask(mode=mode, seed=3, max_tokens=300, sampling=Sampling(30, 0, 1))
        events = told(pair, replace(request, answers=4))
        together = ends(events)
        for i, end in enumerate(together):
            (alone,) = ends(told(pair, replace(request, seed=3 + i)))
            assert (end.text, end.stop) == (alone.text, alone.stop)
        assert Stop.STOP_TOKEN in {end.stop for end in together}
        assert len({end.text for end in together}) == 4
        assert any("model" in end.stats.sources for end in together) == (mode == "sps")
        stats = [end.stats for end in together]
        rounds, tokens = sum(s.rounds for s in stats), sum(s.generated_tokens for s in stats)
        assert (events[-1].rounds, events[-1].tokens) == (rounds, tokens)
        assert all(end.cached_tokens == end.prompt_tokens - 1 for end in stats[1:])


@pytest.mark.parametrize("kind", ["token", "block"])
def test_without_a_seed_each_answer_has_chance_of_its_own(kind):
    """Two of 128 tosses are the same in 1 of 2**128 runs."""
    coin, request = Row(np.array([0, 1]), np.array([0.5, 0.5])), ask(seed=None, rule=kind)
    rules = [rule_of(request) for _ in range(2)]
    first, second = ([rule.draw(coin, place) for place in range(128)] for rule in rules)
    assert first != second


def test_what_is_to_be_said_of_the_prompt_of_several_answers_is_said_once(tiny_target):
    with opened(tiny_target) as pair:
        events = told(pair, ask(answers=3, max_tokens=5, thinking="on"))
    kinds = [type(event) for event in events]
    assert (kinds.count(Prepared), kinds.count(Noticed)) == (1, 1)


def test_a_cancel_keeps_what_an_answer_has_and_begins_no_other(tiny_target):
    with opened(tiny_target) as pair:
        events, (assistant, control) = [], pair
        for event in assistant.replies(ask(answers=3, max_tokens=20, mode="ars"), control):
            events.append(event)
            said = isinstance(event, OneOf) and isinstance(event.event, Decoded)
            if said and event.answer == 1 and event.event.stats.generated_tokens == 5:
                control.cancel.raise_()
        first, second = ends(events)
    assert (first.stop, second.stop) == (Stop.LENGTH, Stop.CANCELLED)
    assert second.stats.generated_tokens == 5


def test_continuing_an_answer_of_several_reads_only_the_next_question(tiny_target):
    with opened(tiny_target) as pair:
        *_, last = ends(told(pair, ask(seed=2, answers=3, max_tokens=50)))
        after = (*QUESTION, Message("assistant", last.text, last.token_ids))
        prepared = told(pair, ask((*after, Message("user", "And at night?"))))[0]
        asked = len(pair[0].chat.encode(QUESTION))
    assert prepared.cached_tokens >= asked + len(last.token_ids) - 1
