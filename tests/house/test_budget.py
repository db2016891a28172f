"""How large the house may be. A change that needs more says so here: a feature names what goes."""

from pathlib import Path

import pytest

from tests import ROOT
from tests.sources import MODULES

LINES = {
    "models": 5_745,  # with what make runs first, of 330, and copies that are mapped, of 260
    "assistant/decoding": 2_564,  # wanted: 2,900; with the source for edits, of 208
    "assistant/edit": 1_799,
    "assistant/passages": 1_575,  # wanted: 450; with several things, of 130, and sheets, of 35
    "assistant/engine assistant/process": 3_480,  # wanted: 2,600; with what models would do, of 190
    "assistant/prompt assistant/constraints assistant/calling": 2_708,  # wanted: 2,500
    "assistant/tools": 1_031,
    "assistant/store": 1_592,
    "assistant/session": 2_041,  # wanted: 1,100; with tools off until wanted
    "assistant/settings": 901,
    "assistant/serve": 1_935,  # with predictions, of 14, and suggestions as they are typed, of 35
    "assistant/lab tui/lab": 2_301,  # wanted, with models/slim: 3,200
    "tui": 14_737,  # wanted: 13,000; with the same, of 82, bell, editor and schemas, of 142, edits
}
"""The most lines of each room; `tui` without its laboratory."""
PRODUCT_LINES, PRODUCT_FILES, TEST_LINES = 43_326, 297, 45_820
"""As it is; wanted are 39,900, 325 and 38,900. A change may only lower them. Edits that say what
they lose, one locked file, pastes, odd models, folders asked in other words and by tasks, the date
and models that are mapped came to 1,800 lines, --inline and completion in editors to 1,700 more,
rows of sheets, indexes that heal, and what is said on a line of its own to 66: the next ones owe
them."""


def lines(*paths: Path) -> int:
    return sum(len(path.read_text().splitlines()) for path in paths)


def inside(*rooms: str) -> list[Path]:
    found = [path for path in MODULES for room in rooms if path.is_relative_to(ROOT / room)]
    return [
        path for path in found if rooms != ("tui",) or not path.is_relative_to(ROOT / "tui/lab")
    ]


@pytest.mark.parametrize("rooms", LINES)
def test_a_room_is_no_larger_than_its_budget(rooms: str) -> None:
    assert lines(*inside(*rooms.split())) <= LINES[rooms]


def test_the_house_is_no_larger_than_its_budget() -> None:
    assert lines(*MODULES) <= PRODUCT_LINES
    assert len(MODULES) <= PRODUCT_FILES
    assert lines(*(ROOT / "tests").rglob("*.py"), ROOT / "tests/mutants.txt") <= TEST_LINES
