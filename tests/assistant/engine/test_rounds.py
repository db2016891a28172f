"""Several answers at once: each is what the target says alone, and independent of the others."""

import itertools
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.row import Row
from assistant.decoding.rules.block import BlockRule
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.token import TokenRule
from assistant.decoding.sources.cascade import Cascade
from assistant.decoding.sources.draft import Fixed
from assistant.decoding.sources.suffix import SuffixSource
from assistant.decoding.sources.tail import TailSource
from assistant.engine.decoding_sequence import DecodingSequence, rule_of, warp_of
from assistant.engine.policy import Control, Policy
from assistant.engine.rounds import Rounds
from assistant.events import Decoded, Noticed, OneOf, Prepared, Reason, Stop
from assistant.request import MOST_ANSWERS, Message, Sampling
from models.errors import ContextFull, UsageError
from tests import tiny
from tests.assistant.engine.answering import answer, assistant_of, endings
from tests.assistant.engine.pressing import CHOSEN, Counting, Pressed, greedy
from tests.assistant.engine.test_assistant import QUESTION, ask, opened
from tests.exact.exact_rows import keep_all
from tests.exact.law import law
from tests.exact.toy import Toy, chain_rule
from tests.exact.toy_sources import modelled

GREEDY = Sampling(temperature=0)
CHEAP = {1: 1.0, 4: 1.1, 8: 1.2, 16: 1.4, 32: 2.0}  # a machine where proposals cost next to nothing


@pytest.fixture
def assistant(open_model, tiny_target):
    return several(open_model, tiny_target)


def several(open_model, path):
    return assistant_of(open_model, path, None, SuffixSource(), TailSource())


def replies(assistant, request):
    control = assistant.control
    control.mode, control.lookahead = request.mode, request.lookahead
    return assistant.replies(request, control)


def single(assistant, request):
    return answer(assistant, request)[-1]


@dataclass
class Stub:
    """Where an answer ends, for toys: at so many tokens."""

    tokens: list[int]
    most: int
    stats: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(generated_tokens=1))

    @property
    def stop(self):
        return Stop.LENGTH if len(self.tokens) >= self.most else None

    tokens_left = 99


class Crowd(Toy):
    """A toy that answers for several texts."""

    most_texts = 8

    def logits_of(self, texts):
        return {i: self.logits(text.tokens, text.rows) for i, text in texts.items()}


class Meddling:
    """Plan by what others of the batch propose: as much as can be known, and more than is."""

    is_free = True
    controller = None
    control = Control("sps")

    def __init__(self, voices):
        self._voices = voices
        self.drafts: list[tuple[int, ...]] = []

    def now(self):
        return self

    def plan(self, room, beside, clock):
        return Fixed(min(room, 1 + sum(map(sum, self.drafts[-1:])) % 2))

    def reason(self, plan):
        return ""


def watched(drafter, policy):
    def propose(*arguments):
        draft = drafter.propose(*arguments)
        policy.drafts.append(draft.tokens)
        return draft

    return SimpleNamespace(propose=propose, sources=drafter.sources, failure=None, tables_s=0.0)


@pytest.mark.parametrize("rule", [TokenRule, BlockRule])
def test_two_answers_have_the_law_of_two_samples_though_one_plans_by_the_others_draft(rule):
    """By enumeration, without tolerance: the joint law is the product of the target's own."""
    target, length = Crowd(2, 3, "full"), 2

    def run(rng):
        texts: list[list[int]] = [[], []]
        policy = Meddling(texts)
        voices = [
            DecodingSequence(
                i, text, Stub(text, length), watched(modelled(Toy(2, 4 + i), 2), policy), rule(rng)
            )
            for i, text in enumerate(texts)
        ]
        for _ in Rounds(target, voices, policy, keep_all):
            pass
        return tuple(tuple(text[:length]) for text in texts)

    one = chain_rule(target, length)
    assert law(run) == {(a, b): one[a] * one[b] for a, b in itertools.product(one, one)}


@pytest.mark.parametrize("rule", [TokenRule, BlockRule])
def test_two_answers_that_the_controller_plans_have_the_law_of_two_samples(rule):
    """On a machine of paper, where a proposal costs little; its clock stands still."""
    target, length, lookaheads = Crowd(2, 3), 2, set()
    target.max_rows = 3  # one answer's proposal takes the other's place

    def run(rng):
        controller = Controller(Costs(CHEAP, {1: 0.05, 8: 0.06, 512: 24.0}))
        policy = Policy(Control(), controller)
        texts: list[list[int]] = [[1], [1]]
        voices = [
            DecodingSequence(i, text, Stub(text, length + 1), modelled(Toy(2, 4 + i), 2), rule(rng))
            for i, text in enumerate(texts)
        ]
        for _, round_, _ in Rounds(target, voices, policy, keep_all, lambda: 0.0):
            lookaheads.add(round_.proposed)
        return tuple(tuple(text[1:][:length]) for text in texts)

    one = chain_rule(target, length, start=[1])
    assert law(run) == {(a, b): one[a] * one[b] for a, b in itertools.product(one, one)}
    assert max(lookaheads) > 0


def test_a_key_pressed_between_two_drafts_takes_effect_at_the_next_evaluation():
    """Any order of keys: the batch keeps to its width, and each reason is that of its draft."""
    control = Control("auto")
    policy = Policy(control, Controller(Costs(CHEAP, {})))
    voices = []
    for i in range(4):
        tokens = [*range(50)] * 4
        drafter = Cascade(Pressed(control))
        voices.append(DecodingSequence(i, tokens, Stub(tokens, 800), drafter, CoupledRule(i)))
    reasons = set()
    for _, round_, forecast in Rounds(Counting(), voices, policy, greedy):
        assert round_.proposed in CHOSEN.get(forecast.reason, range(32)), forecast.reason
        reasons.add(forecast.reason)
        if forecast.reason is Reason.ARS:  # no source is asked, so none presses
            control.mode = "auto"
    assert reasons > CHOSEN.keys()


@pytest.mark.parametrize("lookahead", [None, 0, 3])
def test_greedy_answers_are_all_the_single_one(assistant, lookahead):
    request = ask(sampling=GREEDY, max_tokens=60, lookahead=lookahead, seed=None)
    alone = single(assistant, replace(request, mode="ars"))
    ends = endings(list(replies(assistant, replace(request, answers=3))))
    assert [ends[i].text for i in range(3)] == [alone.text] * 3
    assert all(end.stats.beside == 2 for end in ends.values())
    if lookahead:
        assert sum(end.stats.accepted for end in ends.values()) > 0


@pytest.mark.parametrize("mode", ["ars", "sps"])
def test_with_a_seed_each_answer_is_the_one_that_its_own_seed_gives_alone(assistant, mode):
    request = ask(mode=mode, seed=7, max_tokens=30)
    ends = endings(list(replies(assistant, replace(request, answers=4))))
    alone = [single(assistant, replace(request, mode="ars", seed=7 + i)).text for i in range(4)]
    assert [ends[i].text for i in range(4)] == alone
    assert len(set(alone)) == 4


@pytest.mark.parametrize("kind", ["token", "block"])
def test_without_a_seed_each_answer_has_chance_of_its_own(kind):
    """Two of 128 tosses are the same in 1 of 2**128 runs."""
    coin = Row(np.array([0, 1]), np.array([0.5, 0.5]))
    request = ask(seed=None, rule=kind, answers=2)
    rules = [rule_of(request, i) for i in range(2)]
    first, second = ([rule.draw(coin, place) for place in range(128)] for rule in rules)
    assert first != second


def test_with_a_seed_the_chance_of_an_answer_is_that_of_its_number_more():
    coin = Row(np.array([0, 1]), np.array([0.5, 0.5]))
    rules = rule_of(ask(seed=7, answers=3), 2), CoupledRule(9)
    third, ninth = ([rule.draw(coin, place) for place in range(128)] for rule in rules)
    assert third == ninth


def test_answers_begin_with_one_prompt_and_end_each_for_itself(open_model, tmp_path):
    stopping = several(open_model, tiny.write(tmp_path / "stops.gguf", seed=1, stops=True))
    request = ask(seed=3, max_tokens=300, answers=4, sampling=Sampling(30, 0, 1))
    events = list(replies(stopping, request))
    assert [type(event) for event in events].count(Prepared) == 1
    ends = endings(events)
    assert Stop.STOP_TOKEN in {end.stop for end in ends.values()}
    lengths = [end.stats.generated_tokens for end in ends.values()]
    assert len(set(lengths)) > 1
    over = events[-1]
    assert over.tokens == sum(lengths)
    assert max(end.stats.rounds for end in ends.values()) == over.rounds
    for i, end in ends.items():
        said = [e.event for e in events if isinstance(e, OneOf) and e.answer == i][:-1]
        text = "".join(token.text for decoded in said for token in decoded.tokens)
        assert end.text.startswith(text)


def test_an_answer_that_has_ended_frees_its_place_in_the_batch(assistant):
    widths: list[set[int]] = []
    evaluate = assistant.several.logits_of
    assistant.several.logits_of = lambda texts: widths.append(set(texts)) or evaluate(texts)
    stops = replies(assistant, ask(seed=8, max_tokens=200, answers=4, stop_strings=("e",)))
    ends = endings(list(stops))
    assert Stop.STOP_STRING in {end.stop for end in ends.values()}
    for i, end in ends.items():
        assert sum(i in width for width in widths) == end.stats.rounds
    assert len(widths[0]) == 4 > len(widths[-1])


def test_the_context_is_shared_out_and_what_one_leaves_is_the_others(assistant):
    question = (Message("user", "x" * 600),)
    request = ask(question, seed=1, max_tokens=None, answers=4, mode="sps")
    events = list(replies(assistant, request))
    ends = endings(events)
    assert {end.stop for end in ends.values()} == {Stop.CONTEXT}
    prompt = events[0].prompt_tokens
    share = (1024 - prompt) // 4
    lengths = [end.stats.generated_tokens for end in ends.values()]
    assert lengths == [share] * 4


def test_a_cancel_keeps_what_every_answer_has(assistant):
    request = ask(seed=1, max_tokens=400, answers=3)
    events = []
    for event in replies(assistant, request):
        events.append(event)
        if len(events) == 40:
            assistant.control.cancel.raise_()
    assistant.control.cancel.lower()
    ends = endings(events)
    assert {end.stop for end in ends.values()} == {Stop.CANCELLED}
    assert all(0 < end.stats.generated_tokens < 400 for end in ends.values())


def test_a_cancel_before_the_first_word_ends_all_answers_empty(assistant):
    assistant.control.cancel.raise_()
    ends = endings(list(replies(assistant, ask(answers=3))))
    assistant.control.cancel.lower()
    assert [(end.text, end.stop) for end in ends.values()] == [("", Stop.CANCELLED)] * 3


def test_a_prompt_leaves_room_for_all_answers_up_to_a_quarter_of_the_context(tmp_path):
    with opened(tiny.write(tmp_path / "t.gguf")) as (assistant, _):
        n_ctx = assistant.target.n_ctx
        long = [Message("user", "x" * n_ctx)]
        for answers, each, left in ((1, 40, 40), (4, 40, 160), (8, 40, n_ctx // 4)):
            with pytest.raises(ContextFull, match=f"room for {n_ctx - left}"):
                assistant._prepared(ask(long, answers=answers, max_tokens=each), Control())


def test_continuing_any_of_the_answers_reads_only_the_next_question(assistant):
    ends = endings(list(replies(assistant, ask(seed=2, answers=3, max_tokens=50))))
    for i in (2, 1):
        chosen = Message("assistant", ends[i].text, ends[i].token_ids)
        after = (*QUESTION, chosen, Message("user", "And at night?"))
        prepared = next(iter(replies(assistant, ask(after, answers=1))))
        expected = len(ends[i].token_ids) - 1 if i == 2 else 0  # the others were let go
        assert prepared.cached_tokens - prompt_of(assistant) >= expected
        assert i == 1 or prepared.cached_tokens > prompt_of(assistant) + 40


def prompt_of(assistant) -> int:
    return len(assistant.chat.encode(QUESTION))


def test_a_model_that_holds_one_text_gives_the_answers_in_turn(tiny_target):
    with opened(tiny_target) as (assistant, control):
        request = ask(seed=4, answers=3, max_tokens=20, mode="ars")
        control.mode = "ars"
        events = list(assistant.replies(request, control))
        assert any(
            isinstance(event, Noticed) and "one after another" in event.text for event in events
        )
        ends = endings(events)
        for i in range(3):
            alone = list(assistant.reply(replace(request, answers=1, seed=4 + i), control))[-1]
            assert ends[i].text == alone.text


def test_a_sampling_that_a_key_changes_counts_from_the_next_row_until_it_is_taken_back():
    control, logits = Control("ars"), np.arange(3, dtype=np.float32)
    warped = warp_of(ask(sampling=Sampling(1, 0, 1)), control)
    for changed, kept in ((None, 3), (GREEDY, 1), (Sampling(1, 2, 1), 2), (None, 3)):
        control.sampling = changed
        assert len(warped(logits, []).ids) == kept


@pytest.mark.parametrize("answers", [0, -1, MOST_ANSWERS + 1])
def test_an_impossible_number_of_answers_is_refused(answers):
    with pytest.raises(UsageError, match="answers must be between 1 and 8"):
        ask(answers=answers)


def copies(answers: int, costs: dict[int, float], assistant) -> float:
    """Return how many tokens are proposed per answer and round where all can be copied."""
    assistant.controller = Controller(Costs(costs, {}))
    text = "abcdefghijklmnopqrstuvwxyz" * 8
    question = (Message("user", text), Message("assistant", text), Message("user", text))
    request = ask(question, mode="auto", lookahead=None, sampling=GREEDY, seed=None)
    ends = endings(list(replies(assistant, replace(request, answers=answers, max_tokens=120))))
    assistant.controller = None
    rounds = sum(end.stats.rounds for end in ends.values())
    return sum(end.stats.drafted for end in ends.values()) / rounds


def test_the_wider_the_batch_the_less_is_proposed_for_each(assistant, monkeypatch):
    """Where the batch is at the foot of a step, proposals are dear; on paper, time stands still."""
    timeless = lambda *settings: Rounds(*settings[:-1], lambda: 0.0)  # noqa: E731
    monkeypatch.setattr("assistant.engine.reply.Rounds", timeless)
    steep = {1: 1.0, 2: 1.05, 3: 1.1, 4: 1.15, 5: 3.0, 8: 6.0, 32: 30.0}
    assert copies(1, steep, assistant) > 1
    assert copies(4, steep, assistant) < 0.1
    assert copies(4, CHEAP, assistant) > 1


def test_rows_are_shared_out_when_a_lookahead_is_chosen(assistant):
    ends = endings(list(replies(assistant, ask(answers=8, lookahead=16, max_tokens=60))))
    counts = [k for end in ends.values() for k in end.stats.lookahead_counts]
    assert max(counts) <= 32 // 8 - 1


def test_the_sources_of_one_answer_know_nothing_of_anothers(assistant):
    """A draft is a copy of the prompt or of the answer's own text, never of another's."""
    with ExitStack() as stack:
        stack.callback(assistant.control.cancel.lower)
        request = ask(seed=9, answers=3, max_tokens=80, alternatives=0)
        texts: dict[int, list[int]] = {}
        prompt = list(assistant.chat.encode(QUESTION))
        for event in replies(assistant, request):
            if not (isinstance(event, OneOf) and isinstance(event.event, Decoded)):
                continue
            own = texts.setdefault(event.answer, [])
            known = [*prompt, *own]
            for ghost in event.event.ghosts:
                assert ghost.id in known
            own += [token.id for token in event.event.tokens]
        assert np.ptp([len(text) for text in texts.values()]) <= 80
