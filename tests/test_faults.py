"""The table of faults names tests that exist."""

import re
from pathlib import Path

from tests import ROOT

TABLE = ROOT / "docs/faults.md"


def test_every_row_names_tests_that_exist() -> None:
    lines = TABLE.read_text().splitlines()
    rows = [line for line in lines if re.match(r"\| (?!fault|question)", line)]
    named = [name for row in rows for name in re.findall(r"`([\w/]+\.py)`", row)]
    assert len(rows) > 40
    assert len(named) >= len(rows)
    assert [name for name in named if not (Path(__file__).parent / name).is_file()] == []
