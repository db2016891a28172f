"""With a seed SpS emits the text of ArS, at every limit, in every mode and with all sources.

`test_engines` runs these laws with the other engine. A test that takes `edge` holds for each
mode and lookahead, with a draft that is often wrong and one that never is; a day's run takes some.
"""

from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cache, partial
from math import log, sqrt
from typing import Any

import numpy as np
import pytest

from assistant.decoding.lookahead.controller import Controller
from assistant.decoding.lookahead.costs import Costs
from assistant.decoding.rules.coupled import CoupledRule
from assistant.decoding.rules.rule import TokenRule
from assistant.decoding.sources.draft import Cascade
from assistant.decoding.sources.suffix import SuffixSource, TailSource
from assistant.decoding.warp import warp_with
from assistant.engine.control import Control
from assistant.engine.reply import Assistant
from assistant.engine.rounds import PlannedRound, Rounds
from assistant.engine.sources.ngram import NgramSource, Tables, build_tables
from assistant.events import Decoded, Origin, Stop
from assistant.request import Constraint, Message, Request, Sampling
from models.errors import ContextFull, UsageError
from models.native.model import NativeModel
from models.native.weights import Weights
from tests import tiny
from tests.assistant.engine.answering import assistant_with, end, tokens

LOOKAHEADS = (1, 3, 7, 31)
WAYS = [("auto", None), ("sps", None), ("auto", 7), *(("sps", k) for k in LOOKAHEADS)]
CHEAP = {1: 1.0, 4: 1.1, 8: 1.2, 16: 1.4, 32: 2.0}  # a machine where proposals cost next to nothing
REPEATED = "The cat sits on the mat. " * 2 + "Continue with 2 more of exactly the same sentence."
WORDS = ("é", "ü\n", " 漢", "😀", "stop", "a</think>", "b</think>", "c</think>", "d</think>")
HOT = Sampling(temperature=30, top_k=40, top_p=0.95)  # a random model is very sure without it
EVEN = Sampling(temperature=100, top_k=0, top_p=1)  # all tokens are about as likely
GREEDY, STRICT = Sampling(0), Sampling(temperature=0, repeat_penalty=40, repeat_window=8)
N_CTX = 512


@dataclass
class Edge:
    """A pair, and a way of guessing with it."""

    assistant: Assistant
    mode: Any
    lookahead: int | None

    def events(self, request: Request) -> list[Any]:
        """Return the events of an answer by this way."""
        assistant, control = self.assistant, Control(self.mode, self.lookahead)
        assistant.controller = Controller(Costs(CHEAP, {1: 0.01, 8: 0.06, 512: 24.0}))
        asked = replace(request, mode=self.mode, lookahead=self.lookahead)
        return list(assistant.reply(asked, control, clock=lambda: 0.0))

    def plain(self, request: Request) -> list[Any]:
        """Return the events of the same answer by ArS, and have its tokens in the tables."""
        events = Edge(self.assistant, "ars", None).events(request)
        tables = Tables(build_tables([[token.id for token in tokens(events)]] * 3))
        self.assistant.sources["ngram"] = NgramSource(self.assistant.vocab.size, tables)
        return events

    def compared(self, request: Request) -> tuple[list[Any], list[Any]]:
        """Return the events by both, which say the same and end alike."""
        plain = self.plain(request)
        events = self.events(request)
        assert outcome_of(events) == outcome_of(plain)
        return events, plain


def outcome_of(events: list[Any]) -> tuple[Any, ...]:
    """Return what an answer came to."""
    last = end(events)
    return last.text, last.thought, last.token_ids, last.stop, last.complete


def shown(events: list[Any]) -> str:
    return "".join(token.text for token in tokens(events) if token.part == "answer")


def ask(text: str = REPEATED, **settings: Any) -> Request:
    settings = {"sampling": HOT, "max_tokens": 45, "seed": 1, **settings}
    return Request((Message("user", text),), prediction=REPEATED, **settings)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """Open models by their files, once for all tests: the cache is only a cache."""
    folder = tmp_path_factory.mktemp("edges")
    write = partial(tiny.write, words=WORDS, stops=False)
    files = {
        "target": write(folder / "t.gguf", seed=1),
        "like": write(folder / "d.gguf", seed=2, like=1),
        "ends": write(folder / "e.gguf", seed=1, stops=True),
        "thinks": write(folder / "h.gguf", seed=1, template=tiny.THINKING),
    }
    for size in (8, 40):
        files[str(size)] = write(folder / f"{size}.gguf", seed=2, like=1, n_ctx=size)
    with ExitStack() as stack:

        @cache
        def open_(name, n_ctx=N_CTX, rows=32):
            weights = stack.enter_context(closing(Weights(files[name])))
            return stack.enter_context(
                closing(NativeModel(weights, n_ctx=n_ctx, max_rows=rows, threads=1))
            )

        yield open_


@pytest.fixture(scope="module")
def pair(opened):
    """Return an assistant with every source there is."""

    def pair(target: str, draft: str, n_ctx: int = N_CTX) -> Assistant:
        model, small = opened(target, n_ctx), opened(draft, rows=1)
        return assistant_with(model, small, SuffixSource(), TailSource())

    return pair


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0]}-{way[1]}")
def way(request):
    return request.param


@pytest.fixture(params=["like", "target"])
def edge(pair, way, request):
    return Edge(pair("target", request.param), *way)


@pytest.mark.parametrize("sampling", [HOT, GREEDY, STRICT], ids=["hot", "greedy", "strict"])
@pytest.mark.some(19)
def test_sps_emits_the_text_of_ars_and_every_round_adds_a_token(edge, sampling):
    """With a penalty rows depend on the history, proposals of their own round included."""
    events, _ = edge.compared(ask(sampling=sampling))
    stats, rounds = end(events).stats, [event for event in events if isinstance(event, Decoded)]
    assert all(event.tokens for event in rounds)
    assert stats.rounds + stats.accepted == stats.generated_tokens == 45
    assert stats.drafted > stats.rounds or edge.lookahead == 1
    at, rejected = 0, list[tuple[int, int, str]]()
    for event in rounds:
        rejected += [(at + token.position, token.id, token.source) for token in event.rejected[:1]]
        at += len(event.tokens)
    assert len(rejected) == len({*rejected})


@pytest.mark.some(9)
def test_the_limit_max_tokens_is_exact(edge):
    k = edge.lookahead or 3
    whole = end(edge.plain(ask(max_tokens=2 * k + 3))).token_ids
    for most in sorted({1, 2, k, k + 1, k + 2, 2 * k, 2 * k + 3}):
        events = edge.events(ask(max_tokens=most))
        assert (end(events).token_ids, end(events).stop) == (whole[:most], Stop.LENGTH)
        assert end(events).stats.generated_tokens == most
    with pytest.raises(UsageError, match="max_tokens must be 1 or more"):
        ask(max_tokens=0)


def test_a_token_that_stops_within_a_block_ends_the_answer_there(pair, way):
    edge = Edge(pair("ends", "ends"), *way)
    stops = [edge.compared(ask(seed=seed, max_tokens=150, sampling=EVEN)) for seed in range(3)]
    assert Stop.STOP_TOKEN in {end(events).stop for events, _ in stops}


@pytest.mark.some(9)
def test_no_byte_of_a_stop_string_is_shown_wherever_it_lies(edge):
    """Of one token or several, within a token, from the middle of a character's tokens on."""
    asked = (ask(sampling=EVEN, seed=seed) for seed in range(99))
    wide = next(each for each in asked if {*end(edge.plain(each)).text} & {*"éü漢😀"})
    text = end(edge.plain(wide)).text.rstrip("\ufffd")  # at the end of a character that was cut
    wider = next(i for i, letter in enumerate(text) if letter in "éü漢😀")
    for start in {*range(1, len(text), 17), wider, wider - 1}:
        for length in (1, 4):
            stop = text[start : start + length]
            events = edge.events(replace(wide, stop_strings=(stop, "never said")))
            assert end(events).stop is Stop.STOP_STRING
            assert shown(events) == end(events).text == text[: text.index(stop)]


FORM = Constraint("regex", "(yes|no), [a-z]{3}!")


@pytest.mark.parametrize("budget", [None, 12])
@pytest.mark.some(9)
def test_a_thought_that_ends_within_a_block_leaves_the_constraint_in_force(pair, way, budget):
    """By the model itself, whose tokens hold the marker, or by the budget."""
    edge = Edge(pair("thinks", "thinks"), *way)
    asked = ask(sampling=EVEN, constraint=FORM, max_tokens=200, thinking_budget=budget)
    ends = [end(edge.compared(replace(asked, seed=seed))[0]) for seed in (0, 1)]
    answered = [each for each in ends if each.text]
    assert len(answered) >= 2
    assert all(each.stop is Stop.STOP_TOKEN and each.complete for each in answered)
    assert {len(each.text) for each in answered} <= {len("no, abc!"), len("yes, abc!")}
    assert all("</think>" not in each.thought + each.text for each in ends)


@pytest.mark.parametrize("left", [5, 1])
@pytest.mark.some(9)
def test_the_context_is_used_to_its_last_token_and_no_further(pair, way, left):
    edge = Edge(pair("target", "like", 256), *way)
    empty = len(edge.assistant.chat.encode([Message("user", "")]))
    events, _ = edge.compared(ask("x" * (256 - left - empty), max_tokens=left))
    assert (events[0].prompt_tokens, end(events).stats.generated_tokens) == (256 - left, left)
    with pytest.raises(ContextFull):
        edge.events(ask("x" * (256 - empty + 1 - left), max_tokens=left))
    events, _ = edge.compared(ask("x" * (192 - empty), max_tokens=None))
    assert end(events).stop is Stop.CONTEXT
    assert end(events).stats.generated_tokens == 256 - 192


@pytest.mark.parametrize("size", ["8", "40"])
@pytest.mark.some(9)
def test_a_draft_whose_own_context_is_full_reads_the_end_again(pair, way, size):
    """It reads the end of the text again, and proposes what it has room for."""
    edge = Edge(pair("target", size), *way)
    events, _ = edge.compared(ask(max_tokens=70, sources=("model",)))
    assert end(events).stats.generated_tokens == 70
    assert "model" in end(events).stats.sources


HEAT = 14.0  # makes the rows of a random model as even as those of a real one
DELTA = 1e-8  # twenty comparisons: a false alarm in fewer than one of a million runs


@pytest.mark.parametrize("temperature", [0, 0.3, 0.7, 1.0, 1.3])
@pytest.mark.parametrize("names", [("model",), ("suffix", "tail", "model")], ids=len)
@pytest.mark.parametrize("seeded", [True, False])
@pytest.mark.some(11)
def test_acceptance_is_the_overlap_at_every_temperature(pair, names, seeded, temperature):
    """Without a seed the overlap of both rows, with one at least a / (2 - a) of an overlap a.

    How far a sum of N outcomes is from that of their chances: Azuma and Hoeffding.
    """
    assistant, heated = pair("target", "like"), warp_with(Sampling(HEAT * temperature, 0, 1))
    text = assistant.chat.encode([Message("user", REPEATED)])
    rule = CoupledRule(5) if seeded else TokenRule(np.random.default_rng())
    sources = Cascade(*(assistant.sources[name] for name in names))
    tested: dict[str, list[tuple[bool, float]]] = {}
    for step in Rounds(assistant.target, text, sources, rule, heated, Control("sps")):
        if not isinstance(step, PlannedRound):
            continue
        for each in step.round.tokens:
            if each.origin is Origin.DRAFT and each.proposal:
                chance = each.target_row.overlap(each.proposal.row)
                tested.setdefault(each.proposal.source, []).append((True, chance))
        for rejected in step.round.rejected[:1]:
            assert rejected.target_row
            chance = rejected.target_row.overlap(rejected.proposal.row)
            tested.setdefault(rejected.proposal.source, []).append((False, chance))
    for source, outcomes in tested.items():
        accepted, chances = zip(*outcomes, strict=True)
        least = sum(a / (2 - a) for a in chances) if seeded else sum(chances)
        spread = sqrt(len(chances) * log(2 / DELTA) / 2)
        assert least - spread <= sum(accepted)
        if not (seeded and source == "tail"):  # whose tokens were drawn by their places' numbers
            assert sum(accepted) <= sum(chances) + spread
    every = [accepted for outcomes in tested.values() for accepted, _ in outcomes]
    assert sum(every) > 0.2 * len(every) > 20
