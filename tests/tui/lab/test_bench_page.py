"""Reports drawn: foreign words stay words, and axes have round numbers."""

import re
import xml.etree.ElementTree as ET
from html import escape
from itertools import combinations
from math import cos, radians, sin

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assistant.lab.bench.report import Plot, Point, Report, ReportTable, Section, Series
from tui.lab.bench.html import page
from tui.lab.bench.output import lines
from tui.lab.bench.svg import svg
from tui.lab.bench.svg_frame import number, shortened, ticks
from tui.safe import safe

HOSTILE = "<script>alert(1)</script>&\x1b[31m\"'"
FACTS = {"settings": {"a": HOSTILE}, "files": {}, "versions": {}}


def test_words_of_a_file_are_shown_and_never_obeyed():
    table = ReportTable(HOSTILE, (HOSTILE, "n"), ((HOSTILE, "1"),), HOSTILE)
    drawn = Plot(HOSTILE, HOSTILE, HOSTILE, (Series(HOSTILE, (Point(0, 1),)),), (HOSTILE,))
    report = Report(HOSTILE, (Section(HOSTILE, (HOSTILE,), (table,), (drawn,)),))
    text = page(report, FACTS)
    assert "<script" not in text
    assert "\x1b" not in text
    assert "alert(1)" in text


def test_legend_names_every_series_beside_how_it_is_drawn():
    named = (Series(HOSTILE, (Point(0, 1),), "bars"), Series("m" * 200, (), "dashed"))
    text = page(Report("R", (Section("S", plots=(Plot("t", "", "", named),)),)), FACTS)
    keys = re.findall(r'<li class="(\w+)" style="color:var\(--s(\d)\)"><span>(.*?)</span>', text)
    assert keys == [("bars", "0", escape(safe(HOSTILE))), ("dashed", "1", "m" * 200)]
    one = Report("R", (Section("S", plots=(Plot("t", "", "", named[:1]),)),))
    assert "<li " not in page(one, FACTS)


HIGH, UNDER = 11, 4
WIDTHS = dict.fromkeys("0123456789", 0.64) | {
    "a": 0.61, "M": 0.86, "i": 0.28, "t": 0.39, "e": 0.62, "é": 0.62, "漢": 1, "<": 0.84, "&": 0.78,
    "_": 0.5, "·": 0.32, " ": 0.32, "…": 1, ".": 0.32, "-": 0.36, "+": 0.84,
}  # in DejaVu Sans, of an em  # fmt: skip
FIGURES = st.floats(-1e9, 1e9, allow_nan=False) | st.sampled_from([0.0, 0.85, 1e-9, 13.34])
NAMES = st.text(st.sampled_from("aMi té漢<&_·"), max_size=70)


def corners(text: ET.Element) -> list[tuple[float, float]]:
    """Return the corners of the box that a text fills, turned as it is."""
    x, y = float(text.attrib["x"]), float(text.attrib["y"])
    width = 13 * sum(WIDTHS[each] for each in text.text or "")
    left = x - width * {"start": 0, "middle": 0.5, "end": 1}[text.attrib["text-anchor"]]
    turn = re.search(r"rotate\((\S+) (\S+) (\S+)\)", text.attrib.get("transform", ""))
    angle, *centre = map(float, turn.groups()) if turn else (0.0, x, y)
    cosine, sine = cos(radians(angle)), sin(radians(angle))
    return [
        (
            centre[0] + (a - centre[0]) * cosine - (b - centre[1]) * sine,
            centre[1] + (a - centre[0]) * sine + (b - centre[1]) * cosine,
        )
        for a in (left, left + width)
        for b in (y - HIGH, y + UNDER)
    ]


def apart(ours, theirs) -> bool:
    """Whether a straight line lies between two rectangles: along a side of one of them."""
    for box in (ours, theirs):
        for side in (1, 2):
            along = box[side][0] - box[0][0], box[side][1] - box[0][1]
            mine, others = (
                [x * along[0] + y * along[1] for x, y in each] for each in (ours, theirs)
            )
            if max(mine) <= min(others) + 1e-6 or max(others) <= min(mine) + 1e-6:
                return True
    return False


@st.composite
def plots(draw):
    categories = draw(st.lists(NAMES, max_size=30))
    series = []
    for name in draw(st.lists(NAMES, max_size=9)):
        style = draw(st.sampled_from(["line", "points", "dashed", "bars"]))
        xs = st.integers(0, max(0, len(categories) - 1)) if categories else FIGURES
        points = []
        for x, y, away in draw(st.lists(st.tuples(xs, FIGURES, st.none() | FIGURES), max_size=20)):
            between = (None, None) if away is None else (y - abs(away), y + abs(away))
            points.append(Point(x, y, *between))
        unique = {point.x: point for point in points}
        series.append(Series(name, tuple(unique.values()), style))
    level = draw(st.none() | FIGURES)
    words = draw(st.tuples(NAMES, NAMES, NAMES, NAMES))
    return Plot(*words[:3], tuple(series), tuple(categories), level, words[3] if level else "")


def crowd(bars, categories):
    points = tuple(Point(i, 0.85) for i in range(categories))
    series = tuple(Series("a", points, "bars") for _ in range(bars))
    return Plot("t", "", "a", series, ("aaaaaaaaaa",) * categories)


@settings(max_examples=100)
@given(plots())
@example(crowd(6, 10))
@example(crowd(1, 60))
@example(Plot("t", "", "a", (), (), -1.0, "a" * 20))
@example(Plot("t", "", "a", (Series("s", (Point(0, -3.0, -4.0, -2.0), Point(1, 1e6))),)))
@example(Plot("t", "", "a", (Series("s", (Point(0, 1e-9), Point(1, 2e-9)), "dashed"),)))
def test_nothing_of_a_plot_is_outside_it_and_no_word_over_another(drawn):
    root = ET.fromstring(svg(drawn))
    *_, width, height = map(float, root.attrib["viewBox"].split())
    said = [each for each in root.iter("text") if each.text and each.text.strip()]
    boxes = [(each.text, corners(each)) for each in said]
    for name, box in boxes:
        for x, y in box:
            assert -1 <= x <= width + 1, name
            assert -1 <= y <= height + 1, name
    for line in root.iter("line"):
        assert all(-1 <= float(line.attrib[name]) <= width + 1 for name in ("x1", "x2"))
        assert all(-1 <= float(line.attrib[name]) <= height + 1 for name in ("y1", "y2"))
    values = {i for i, each in enumerate(said) if each.attrib.get("class") == "value"}
    for (i, ours), (j, theirs) in combinations(enumerate(boxes), 2):
        if not drawn.categories and i in values and j in values:
            continue  # bars between the categories may stand on one another
        assert apart(ours[1], theirs[1]), (ours[0], theirs[0])


def test_names_of_the_kinds_of_spec_bench_are_all_there_and_whole():
    kinds = ("writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem")
    kinds += ("humanities", "translation", "summarization", "qa", "math_reasoning", "rag", "all")
    bars = Series("s", tuple(Point(i, 1.0) for i in range(len(kinds))), "bars")
    root = ET.fromstring(svg(Plot("t", "", "y", (bars,), kinds)))
    assert set(kinds) <= {each.text for each in root.iter("text")}


def test_names_that_are_too_long_end_in_an_ellipsis():
    names = {("short", 40): "short", ("longer", 44): "long…", ("a bcd", 35): "a…"}
    names |= {("漢字漢字", 48): "漢字…"}
    assert {given: shortened(*given) for given in names} == names


@pytest.mark.parametrize(
    "expected", ["0 1 2", "0.0 0.5 1.0", "0.00 0.25 0.50", "0 2e-09", "0 5e+06 1e+07"]
)
def test_ticks_have_the_digits_that_distinguish_them(expected):
    values = [*map(float, expected.split())]
    assert " ".join(number(value, values) for value in values) == expected


def test_ticks_are_round_and_reach_around_the_values():
    assert ticks(0, 1) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
    assert ticks(0, 7.1) == [0, 2, 4, 6, 8]
    assert ticks(-1, 1) == [-1, -0.5, 0, 0.5, 1]
    assert ticks(0, 0) == ticks(0, float("nan")) == [0, 1]


def test_text_of_two_names_is_grouped_and_figures_are_aligned():
    table = ReportTable("T", ("kind", "system", "n"), (("a", "x", "1"), ("a", "yy", "10")), names=2)
    told = list(lines(Report("R", (Section("S", (), (table,)),))))
    assert told[:5] == ["T", "  system   n", "a", "  x        1", "  yy      10"]


def test_what_was_left_open_is_no_setting():
    facts = {"settings": {"seed": None, "predict": True, "ctx": 7}, "files": {}, "versions": {}}
    text = page(Report("R", ()), facts)
    assert "Settings: predict yes, ctx 7" in text
    assert "None" not in text
