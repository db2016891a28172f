"""Reports drawn: foreign words stay words, and axes have round numbers."""

import xml.etree.ElementTree as ET

import pytest

from assistant.bench.report import Plot, Point, Report, Section, Series, Table
from tui.bench.html import page
from tui.bench.svg import svg, ticks
from tui.bench.text import lines

HOSTILE = "<script>alert(1)</script>&\x1b[31m\"'"
FACTS = {"settings": {"a": HOSTILE}, "files": {}, "versions": {}}


def plot(*ys, style="line", **more):
    points = tuple(Point(x, y, y - 0.5, y + 0.5) for x, y in enumerate(ys))
    return Plot("t", "x", "y", (Series("s", points, style), Series("r", points)), **more)


def test_words_of_a_file_are_shown_and_never_obeyed():
    table = Table(HOSTILE, (HOSTILE, "n"), ((HOSTILE, "1"),), HOSTILE)
    drawn = Plot(HOSTILE, HOSTILE, HOSTILE, (Series(HOSTILE, (Point(0, 1),)),), (HOSTILE,))
    report = Report(HOSTILE, (Section(HOSTILE, (HOSTILE,), (table,), (drawn,)),))
    text = page(report, FACTS)
    assert "<script" not in text
    assert "\x1b" not in text
    assert "alert(1)" in text


@pytest.mark.parametrize("style", ["line", "points", "dashed", "bars"])
@pytest.mark.parametrize("ys", [(), (0.0,), (1.0, 1.0), (-3.0, 1e6), (1e-9, 2e-9)])
def test_plot_of_anything_is_well_formed_and_inside_its_frame(style, ys):
    more = {"categories": tuple("abcdef"[: len(ys)])} if style == "bars" and ys else {}
    root = ET.fromstring(svg(plot(*ys, style=style, **more)))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for each in root.iter():
        for name, most in (("x1", width), ("x2", width), ("y1", height), ("y2", height)):
            assert -1 <= float(each.attrib.get(name, 0)) <= most + 1
    assert len(list(root.iter())) > 5


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0, 7.1, [0, 2, 4, 6, 8]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]),
        (0, 0, [0, 1]),
        (0, float("nan"), [0, 1]),
    ],
)
def test_ticks_are_round_and_reach_around_the_values(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)


def test_text_of_two_names_is_grouped_and_figures_are_aligned():
    table = Table("T", ("kind", "system", "n"), (("a", "x", "1"), ("a", "yy", "10")), names=2)
    told = list(lines(Report("R", (Section("S", (), (table,)),))))
    assert told[:5] == ["T", "  system   n", "a", "  x        1", "  yy      10"]
