"""The comparison of systems: ratios by question, intervals, and an order that cancels drift."""

from dataclasses import astuple
from math import log

import numpy as np
import pytest

from assistant.lab.bench import reports
from assistant.lab.bench.answers import ALL
from assistant.lab.bench.intervals import geometric_mean, mean, share
from assistant.lab.bench.plan import Question, interleave, parse_systems, sweep_systems
from assistant.lab.table import Interval
from assistant.request import Sampling
from models.errors import UsageError
from tests.assistant.lab.bench.made import answer, columns

SYSTEMS = parse_systems("ars,auto")


def standings(answers):
    """Return the rows of the table by kind and system, each by column."""
    (table,) = reports.prompts(answers, SYSTEMS)
    return {(row["kind"], row["system"]): row for row in columns(table)}


def test_a_gap_is_filled_right_if_the_first_line_is_what_stood_there():
    answers = [answer(gap, way, 2.0) for gap in "ab" for way in ("ars", "auto")]
    rows = columns(reports.infill(answers, SYSTEMS, {"a": "text \nmore", "b": "texts"})[-1])
    assert [(row["system"], row["right [95 %]"].value, row["suggestion, s"]) for row in rows] == [
        ("ars", 0.5, 2.0), ("auto", 0.5, 2.0)
    ]  # fmt: skip


def test_a_share_has_an_interval_with_a_width_where_all_are_right():
    assert astuple(share(6, 6)) == pytest.approx((1.0, 0.6097, 1.0), abs=1e-4)
    assert astuple(share(5, 10)) == pytest.approx((0.5, 0.2366, 0.7634), abs=1e-4)


def test_ratio_is_the_geometric_mean_over_questions_and_repeats_are_added_up():
    answers = [answer("a", "ars", 4.0), answer("a", "auto", 2.0)]
    questions = ("a", 2, 1, "code"), ("b", 1, 2, "code"), ("c", 1, 1, "chat")
    for name, ars_s, auto_s, kind in questions:
        answers += [answer(name, "ars", ars_s, kind=kind), answer(name, "auto", auto_s, kind=kind)]
    found = standings(answers)
    assert found["code", "auto"]["× ArS [95 %]"].value == pytest.approx(1.0)
    assert found["code", "auto"]["worst"] == pytest.approx(0.5)
    assert found["chat", "auto"]["× ArS [95 %]"].value == pytest.approx(1.0)
    assert found["code", "ars"]["tokens/s"] == pytest.approx(300 / 7)
    assert found["code", "ars"]["× ArS [95 %]"] is None
    assert found[ALL, "auto"]["× ArS [95 %]"].low < 1 < found[ALL, "auto"]["× ArS [95 %]"].high


def test_question_that_one_of_both_has_not_answered_is_left_out():
    answers = [answer("a", "ars", 1.0), answer("a", "auto", 0.5), answer("b", "auto", 9.0)]
    for kind in ("code", ALL):
        assert standings(answers)[kind, "auto"]["× ArS [95 %]"].value == pytest.approx(2)


def test_each_lookahead_has_its_time_its_rounds_and_the_drafts_steps_in_them():
    ways = sweep_systems("model", "3")
    more = {"rounds": 40, "drafted": 120, "tested": 90, "accepted": 60, "draft_s": 3.0}
    answers = [answer("a", "ars", 10.0), answer("a", "model=3", 8.0, reading_s=1.0, **more)]
    (table,) = reports.sweep(answers, ways)
    (_, k, _, *ars), (_, other_k, _, *sps) = table.rows
    assert (k, other_k) == ("0", "3")
    times = [row["128 tokens, s [95 %]"].value for row in columns(table)]
    assert times == pytest.approx([12.8, 128 * 8 / 100])
    assert ars == pytest.approx([1.0, 100.0, 0.0, None])
    loop_s, step_s = (8.0 - 1.0) / 40, 2.0 / 40
    assert sps == pytest.approx([100 / 40 / 4, 1000 * loop_s, 1000 * step_s, 60 / 90])


def test_steady_drift_hits_all_systems_alike():
    now, spent = 0.0, dict.fromkeys(("ars", "auto", "sps"), 0.0)
    questions = [Question(str(i), "code", "") for i in range(10)]
    for asked in interleave(questions, parse_systems("ars,auto,sps"), Sampling()):
        for system in asked.systems:
            spent[system.name] += 1 + now
            now += 0.01
    assert max(spent.values()) == pytest.approx(min(spent.values()), rel=1e-12)
    plain = [sum(1 + 0.01 * (3 * i + j) for i in range(10)) for j in range(3)]
    assert max(plain) > 1.01 * min(plain)  # what would be without


def test_each_repeat_has_a_seed_and_a_key_of_its_own():
    asked = [*interleave([Question("q", "code", "")], SYSTEMS, Sampling(), 3, seed=7)]
    assert [each.seed for each in asked] == [7, 8, 9]
    assert len({(each.repeat, way.name) for each in asked for way in each.systems}) == 6


def test_interval_covers_the_truth_as_often_as_it_says():
    """200 worlds; an interval of 95 % that covered less than 85 % or all would be wrong.

    Percentile intervals of 20 log-normal ratios cover about 93 %; outside of 84 % to 99.5 %
    (binomial, 200 draws at 0.93) lies less than one in a million on the low side, and the upper
    bound allows for all.
    """
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(200):
        found = geometric_mean(np.exp(rng.normal(log(1.5), 0.3, 20)).tolist())
        covered += (found.low or 0) <= 1.5 <= (found.high or 0)
    assert covered >= 160


def test_single_value_has_no_interval():
    assert mean([3.0]) == Interval(3.0)


def test_systems_are_written_as_people_say_them():
    ars, sps, model, both, half = parse_systems("sps=4, model=3, suffix+model=7, f16:auto")
    assert (ars.name, ars.mode) == ("ars", "ars")
    assert (sps.mode, sps.lookahead, sps.sources) == ("sps", 4, None)
    assert (model.mode, model.lookahead, model.sources) == ("sps", 3, ("model",))
    assert both.sources == ("suffix", "model")
    assert (half.target, half.mode) == ("f16", "auto")
    (_, here, path) = parse_systems("suffix,/tmp/a.b:c/x.gguf:sps=2")
    assert (here.mode, here.lookahead, here.sources) == ("auto", None, ("suffix",))
    assert path.target == "/tmp/a.b:c/x.gguf"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not a system"), ("fast", "neither a mode nor of"), ("ars=3", "goes with sps"),
        ("sps=0", "1 to 31"), ("sps=32", "1 to 31"), ("auto,auto", "listed twice"),
        ("suffix+=3", "neither a mode"),
    ],
)  # fmt: skip
def test_a_text_that_names_no_system_is_refused_with_the_reason(text, reason):
    with pytest.raises(UsageError, match=reason):
        parse_systems(text)
