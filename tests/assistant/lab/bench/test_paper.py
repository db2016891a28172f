"""The tables of the papers, computed from known answers."""

from dataclasses import replace

import pytest

from assistant.decoding.lookahead.forecast import expected_tokens
from assistant.lab.bench import plan
from assistant.lab.bench.reports import rouge_2, tables
from tests.assistant.lab.bench.made import answer, columns

GREEDY = "code · greedy"
ALPHA, TOKEN_S, STEP_S = 0.5, 0.1, 0.02


def ideal(question, k, reading_s=0.0):
    """An answer of a machine that is as the theory takes it, with `ALPHA` accepted."""
    rounds = 100
    tokens = rounds * expected_tokens(ALPHA, k)
    seconds = reading_s + rounds * (k * STEP_S + TOKEN_S)
    draft_s = reading_s + rounds * k * STEP_S
    figures = {"rounds": rounds, "drafted": rounds * k, "draft_s": draft_s}
    figures |= {"tested": 100, "accepted": 100 * ALPHA}
    more = {"kind": GREEDY, "tokens": tokens, "reading_s": reading_s}
    return answer(question, f"model={k}", seconds, **more, **figures)


@pytest.fixture
def answers():
    ars = [answer(name, "ars", 10.0, kind=GREEDY) for name in "ab"]
    return [*ars, *(ideal(name, k) for name in "ab" for k in plan.LOOKAHEADS)]


def made(answers, labels=(), references=None):
    """Return the tables: Chen's two, Leviathan's two, and that of other weights."""
    return tables(answers, plan.paper_systems(labels), references or {})


def test_on_a_machine_as_the_theory_takes_it_the_formulas_are_what_is_measured(answers):
    _, _, alphas, speeds, _ = made(answers)
    (alpha,) = columns(alphas)
    assert (alpha["draft"], alpha["proposes"]) == ("model", 1.0)
    assert alpha["α [95 %]"].value == pytest.approx(ALPHA)
    assert [row["K"] for row in columns(speeds)] == [str(k) for k in plan.LOOKAHEADS]
    for row in columns(speeds):
        assert row["/round"] == pytest.approx(row["eq. 1"])
        assert row["× ArS [95 %]"].value == pytest.approx(row["th. 3.8"])
        assert row["th. 3.8"] == pytest.approx(row["+ t(n)"])


def test_cost_of_a_step_and_its_formulas_are_without_the_reading_of_the_prompt(answers):
    read = [ideal(name, k, reading_s=7.0) for name in "ab" for k in plan.LOOKAHEADS]
    _, sweep, _, speeds, _ = made([*answers[:2], *read])
    for row in columns(speeds):
        k = int(row["K"])
        formula = expected_tokens(ALPHA, k) / (k * STEP_S / TOKEN_S + 1)
        assert row["th. 3.8"] == pytest.approx(formula)
        assert row["+ t(n)"] == pytest.approx(formula)
        assert row["× ArS [95 %]"].value < formula  # which counts the reading
    for row in columns(sweep):
        assert row["draft, ms"] == pytest.approx(1000 * int(row["K"]) * STEP_S)
        assert row["loop, ms"] == pytest.approx(row["draft, ms"] + 1000 * TOKEN_S)


def test_acceptance_is_of_what_was_proposed_and_each_draft_says_how_often_it_proposes():
    more = {"rounds": 100, "drafted": 40, "tested": 40, "accepted": 10}
    _, _, alphas, *_ = made([answer("a", "suffix=1", 9.0, kind=GREEDY, **more)])
    (copy,) = columns(alphas)
    assert (copy["draft"], copy["α [95 %]"].value, copy["proposes"]) == ("suffix", 0.25, 0.4)


def test_table_1_compares_the_scores_of_the_same_questions(answers):
    told = {("a", "ars"): "one two three", ("a", "model=4"): "one two", ("b", "ars"): "one two"}
    written = []
    for plain in answers:
        text = told.get((plain.question, plain.system), "")
        written.append(replace(plain, outcome=replace(plain.outcome, text=text)))
    ars, sps = columns(made(written, references={"a": "one two three"})[0])
    assert (ars["method"], ars["× ArS [95 %]"]) == ("ArS", None)
    assert ars["ROUGE-2 [95 %]"].value == pytest.approx(1.0)
    assert sps["ROUGE-2 [95 %]"].value == pytest.approx(2 / 3 - 1)  # the difference from ArS
    assert ars["ms/token"] == pytest.approx(100)


def test_factors_are_against_the_first_of_the_other_weights():
    kind = "chat · files"
    more = {"rounds": 30, "tested": 50, "accepted": 40}
    answers = [
        answer("q", "/a/b-F16.gguf:ars", 10.0, kind=kind),
        answer("q", "ars", 5.0, kind=kind),
        answer("q", "model=4", 2.0, kind=kind, **more),
    ]
    wide, ars, sps = columns(made(answers, ["/a/b-F16.gguf"])[-1])
    names = [row["weights and method"] for row in (wide, ars, sps)]
    assert names == ["b-F16 ars", "ars", "model=4"]
    assert wide["× first [95 %]"] is None
    assert [row["× first [95 %]"].value for row in (ars, sps)] == pytest.approx([2, 5])
    assert (sps["slowest"], sps["fastest"], sps["accepted"]) == (50, 50, 0.8)


def test_everything_that_the_tables_need_is_asked_once():
    tasks, ways = [*plan.bundled("summaries"), *plan.bundled("code")], plan.paper_systems(["f16"])
    items = plan.paper_questions(tasks, plan.bundled("tasks"), ways)
    asked = [(item.question, way.name) for item in items for way in item.systems]
    assert len(asked) == len({(question.kind, question.name, way) for question, way in asked})
    systems = {sampling: set[str]() for sampling in plan.SAMPLINGS}
    for question, way in asked:
        systems[plan.task_and_sampling(question.kind)[1]].add(way)
    lookaheads, drafts = len(plan.LOOKAHEADS), len(plan.DRAFTS)
    counts = {"greedy": lookaheads + drafts, "nucleus": 2, "T=1": drafts, "files": 4}
    assert {sampling: len(names) for sampling, names in systems.items()} == counts


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
    for question in plan.bundled("summaries"):
        assert 0 < rouge_2(question.reference or "", question.text) < 0.2
