"""The papers' formulas give their printed numbers, and their tables come from known answers."""

from dataclasses import replace

import numpy as np
import pytest

from assistant.decoding.lookahead import theory
from assistant.decoding.row import Row
from assistant.decoding.rules.residual import residual
from assistant.lab.bench.events import Judged, Profile
from assistant.lab.bench.paper import chen, leviathan, qualcomm
from assistant.lab.bench.paper.plan import DRAFTS, LOOKAHEADS, SAMPLINGS, asked, parts, systems
from assistant.lab.bench.paper.report import rouge_2
from assistant.lab.bench.questions import shipped
from tests.assistant.lab.bench.made import answer

# Leviathan et al. 2023, table 1, with c = 0: acceptance rate, lookahead, operations, speed
LEVIATHAN_1 = [
    (0.6, 2, 1.53, 1.96),
    (0.7, 3, 1.58, 2.53),
    (0.8, 2, 1.23, 2.44),
    (0.8, 5, 1.63, 3.69),
    (0.9, 2, 1.11, 2.71),
    (0.9, 10, 1.60, 6.86),
]


@pytest.mark.parametrize(("rate", "k", "operations", "speed"), LEVIATHAN_1)
def test_leviathan_operations_and_speed_of_table_1(rate, k, operations, speed):
    assert round(theory.operations_factor(rate, k, 0.0), 2) == operations
    assert round(theory.wall_clock_factor(rate, k, 0.0), 2) == speed
    closed = (1 - rate ** (k + 1)) / (1 - rate)
    assert theory.expected_tokens(rate, k) == pytest.approx(closed)


@pytest.mark.parametrize(("share", "speedup"), [(0.8, 2.65), (0.62, 2.05)])
def test_estimate_from_the_share_of_a_round_gives_the_published_examples(share, speedup):
    """Chen et al.'s times: a draft step of 1.8 ms, a token of the target of 14.1 ms, K = 4."""
    seconds = theory.estimated_seconds(1000, share, 4, 0.0018, 0.0141)
    assert round(1000 * 0.0141 / seconds, 2) == speedup
    assert theory.estimated_seconds(1000, 1.0, 0, 0.0018, 0.0141) == pytest.approx(14.1)  # ArS


def test_qualcomm_residual_of_figure_10():
    target = Row(np.arange(4), np.array([0.30, 0.45, 0.10, 0.15]))
    draft = Row(np.arange(4), np.array([0.4, 0.3, 0.2, 0.1]))
    left = residual(target, draft)
    shares = dict(zip(left.ids.tolist(), left.probs / left.probs.sum(), strict=True))
    assert shares == {1: pytest.approx(0.75), 3: pytest.approx(0.25)}


def test_lookahead_pays_if_the_acceptance_rate_is_above_the_cost_ratio():
    """Leviathan et al. 2023, corollary 3.9."""
    for rate in np.linspace(0.021, 0.983, 33):
        for ratio in np.linspace(0.01, 0.99, 29):
            assert (theory.optimal_lookahead(rate, ratio) > 0) == (rate > ratio)


def test_optimal_lookahead_grows_with_acceptance_and_falls_with_cost():
    rates, ratios = np.linspace(0.1, 0.95, 18), (0.01, 0.05, 0.1, 0.2, 0.5)
    for ratio in ratios:
        ks = [theory.optimal_lookahead(rate, ratio) for rate in rates]
        assert ks == sorted(ks)
    for rate in rates:
        ks = [theory.optimal_lookahead(rate, ratio) for ratio in ratios]
        assert ks == sorted(ks, reverse=True)
    assert theory.optimal_lookahead(0.8, 0.0) == 31  # a free draft is asked for all there is room


def test_certain_acceptance_is_no_division_by_zero():
    assert theory.expected_tokens(1.0, 4) == 5
    assert theory.operations_factor(1.0, 4, 0.0) == 1


GREEDY = "code · greedy"
ALPHA, TOKEN_S, STEP_S = 0.5, 0.1, 0.02


def profiled(made, overlaps):
    profile = Profile((1, 2), 0, {"model": Judged(tuple(overlaps), (0,) * len(overlaps))})
    return replace(made, measured=replace(made.measured, profile=profile))


def ideal(question, k, reading_s=0.0):
    """An answer of a machine that is as the theory takes it, with `ALPHA` accepted."""
    rounds = 100
    tokens = rounds * theory.expected_tokens(ALPHA, k)
    seconds = reading_s + rounds * (k * STEP_S + TOKEN_S)
    draft_s = reading_s + rounds * k * STEP_S
    figures = {"rounds": rounds, "drafted": rounds * k, "draft_s": draft_s}
    more = {"kind": GREEDY, "tokens": tokens, "reading_s": reading_s}
    return answer(question, f"model={k}", seconds, **more, **figures)


@pytest.fixture
def answers():
    ars = [
        profiled(answer(name, "ars", 10.0, kind=GREEDY), [ALPHA + off, ALPHA - off, ALPHA])
        for name, off in (("a", 0.1), ("b", 0.3))
    ]
    return [*ars, *(ideal(name, k) for name in "ab" for k in LOOKAHEADS)]


def test_on_a_machine_as_the_theory_takes_it_the_formulas_are_what_is_measured(answers):
    alphas = leviathan.table_3(answers)
    assert [(each.draft, each.proposes) for each in alphas] == [("model", 1.0)]
    assert alphas[0].alpha.value == pytest.approx(ALPHA)
    speeds = leviathan.table_2(answers, alphas, operations_ratio=0.3)
    assert [each.lookahead for each in speeds] == list(LOOKAHEADS)
    for each in speeds:
        assert each.cost_ratio == pytest.approx(STEP_S / TOKEN_S)
        assert each.batch_ratio == pytest.approx(1)
        assert each.tokens_per_round == pytest.approx(each.expected_tokens)
        assert each.speedup.value == pytest.approx(each.formula)
        assert each.formula == pytest.approx(each.formula_with_batch)
        assert each.operations == pytest.approx(each.operations_formula)


def test_cost_of_a_step_and_its_formulas_are_without_the_reading_of_the_prompt(answers):
    alphas = leviathan.table_3(answers)
    read = [*answers[:2], *(ideal(name, k, reading_s=7.0) for name in "ab" for k in LOOKAHEADS)]
    speeds = leviathan.table_2(read, alphas, operations_ratio=0.3)
    for each in speeds:
        assert each.cost_ratio == pytest.approx(STEP_S / TOKEN_S)
        assert each.batch_ratio == pytest.approx(1)
        assert each.formula == pytest.approx(
            theory.wall_clock_factor(ALPHA, each.lookahead, STEP_S / TOKEN_S)
        )
        assert each.speedup.value < each.formula  # which counts the reading
    ways = systems([])
    for step in chen.figure_1(read, ways)[1]:
        assert step.draft_s == pytest.approx(step.lookahead * STEP_S)
        assert step.loop_s == pytest.approx(step.draft_s + TOKEN_S)
    _, line = chen.table_1(read, {})
    assert line.estimate == pytest.approx(theory.wall_clock_factor(ALPHA, 4, STEP_S / TOKEN_S))


def test_draft_that_often_has_nothing_to_propose_has_a_small_alpha(answers):
    first = answers[0]
    judged = {"suffix": Judged((1.0, -1, -1, -1), (3, -1, -1, -1))}
    made = replace(first.measured.profile, sources=judged)
    made = replace(first, measured=replace(first.measured, profile=made))
    (copy,) = leviathan.table_3([made])
    assert (copy.draft, copy.alpha.value, copy.proposes) == ("copy", 0.25, 0.25)


def test_table_1_compares_the_same_questions_and_their_scores(answers):
    scores = {(GREEDY, name, system): score
              for name, ours, theirs in (("a", 1.0, 0.0), ("b", 1.0, 1.0))
              for system, score in (("ars", ours), ("model=4", theirs))}  # fmt: skip
    ars, sps = chen.table_1(answers, scores)
    assert (ars.method, ars.speedup, ars.parity) == ("ArS", None, None)
    assert (ars.score.value, sps.score.value) == (1.0, 0.5)
    assert ars.token_s.value == pytest.approx(0.1)
    expected = theory.wall_clock_factor(ALPHA, 4, STEP_S / TOKEN_S)
    assert sps.speedup.value == pytest.approx(expected)
    assert (ars.estimate, sps.estimate) == (None, pytest.approx(expected))
    assert sps.parity == 1.0  # one difference tells nothing


def test_scores_that_differ_all_one_way_speak_against_parity():
    names = [str(i) for i in range(12)]
    made = [answer(name, system, 1.0, kind=GREEDY) for name in names
            for system in ("ars", "model=4")]  # fmt: skip
    scores = {
        (GREEDY, name, way): float(way == "ars") for name in names for way in ("ars", "model=4")
    }
    section, (_, sps) = chen.section(made, scores, "")
    assert sps.parity < 0.001
    assert "speak against" in section.text[0]


def test_greedy_texts_of_ars_and_sps_are_compared_and_others_are_not():
    nucleus = "code · nucleus"
    made = [answer(name, system, 1.0, kind=kind) for name in "ab"
            for system in ("ars", "model=4") for kind in (GREEDY, nucleus)]  # fmt: skip
    made = [
        replace(each, measured=replace(each.measured, text="another"))
        if (each.question, each.system) == ("b", "model=4")
        else each
        for each in made
    ]
    section, _ = chen.section(made, {}, "Why there is no score.")
    compared, remark = section.text
    assert compared.startswith("At temperature 0 SpS K=4 gave the text of ArS in 1 of 2 answers")
    assert remark == "Why there is no score."
    section, _ = chen.section([each for each in made if each.kind == nucleus], {}, "")
    assert section.text == ()


def test_column_of_a_file_has_its_name_without_where_it_is():
    made = [answer("q", f"{way}ars", 10.0, kind="chat · files") for way in ("/a/b-F16.gguf:", "")]
    _, columns = qualcomm.section(made, systems(["/a/b-F16.gguf"]), "Q4_0")
    assert [each.name for each in columns] == ["b-F16 ArS", "Q4_0 ArS"]


def test_factors_are_against_the_widest_weights_and_ceilings_against_bandwidth():
    ways = systems(["f16"])
    kind = "chat · files"
    made = [
        answer("q", "f16:ars", 10.0, kind=kind),
        answer("q", "ars", 5.0, kind=kind),
        answer("q", "model=4", 2.0, kind=kind, rounds=30, tested=50, accepted=40),
    ]
    section, columns = qualcomm.section(made, ways, "Q4_0")
    assert [each.name for each in columns] == ["F16 ArS", "Q4_0 ArS", "Q4_0 SpS K=4"]
    assert columns[0].factor is None
    assert [each.factor.value for each in columns[1:]] == pytest.approx([2, 5])
    assert "Q4_0 SpS K=4 is 5.00 times as fast as F16 ArS." in section.text
    assert section.tables[1].rows == (("chat", "80%", "3.33"),)
    sizes = qualcomm.sizes(ways, "Q4_0", {"target": 10**9, "f16": 4 * 10**9, "draft": 1})
    bound, lines = qualcomm.ceilings(columns, sizes, 40e9)
    assert [each.ceiling for each in lines] == [10, 40, 40]
    assert [each.tokens_per_s > each.ceiling for each in lines] == [False, False, True]
    assert "Q4_0 SpS K=4 went beyond it." in bound.text[0]


def test_everything_that_the_tables_need_is_asked_once():
    ways = systems(["f16"])
    all_ = list(asked([*shipped("summaries"), *shipped("code")], shipped("tasks"), ways))
    keys = [(each.question.kind, each.question.name) for each in all_]
    assert len(keys) == len(set(keys))
    assert {parts(kind)[1] for kind, _ in keys} == {*SAMPLINGS, "files"}
    for each in all_:
        names = {system.name for system in each.systems}
        assert len(names) == len(each.systems)
        assert "ars" in names
        assert bool(each.profiled) == (parts(each.question.kind)[1] in ("greedy", "T=1"))
        assert set(each.profiled) <= set(DRAFTS)


@pytest.mark.parametrize(
    ("text", "reference", "score"),
    [
        ("the cat sat", "the cat sat", 1.0),
        ("The cat, sat!", "the cat sat", 1.0),
        ("a b c", "x y z", 0.0),
        ("", "a b", 0.0),
        ("a b c d", "b c", 2 * 1 / (3 + 1)),  # one pair in common, of three and one
        ("a b a b", "a b", 2 * 1 / (3 + 1)),  # a repetition counts once
    ],
)
def test_rouge_2_by_hand(text, reference, score):
    assert rouge_2(text, reference) == pytest.approx(score)


def test_summaries_have_references_that_are_not_their_text():
    for question in shipped("summaries"):
        assert 0 < rouge_2(question.reference, question.text) < 0.2
