"""`specchat tune` as a shell sees it."""

import json
import signal
from pathlib import Path

import pytest

from models.engines import ENGINES
from tests import tiny
from tests.patience import WAIT_S
from tests.tui.shell.program import endless, run, started

TUNE = ("tune", "--threads", "1")
ENDLESS = endless("tui.shell.engine_console", "EngineConsole.run")


def test_json_has_the_curves_and_what_was_tried(target: Path, draft: Path, home: Path) -> None:
    code, out, err = run(*TUNE, "--target", target, "--draft", draft, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["paths"] == [str(target), str(draft)]
    assert found["verify"].keys() >= {"1", "2", "4", "8", "32"}
    assert found["draft"]["1"] > 0
    assert found["engine"]["engine"] in ENGINES
    assert "measuring the cost curves" in err
    assert "left" in err
    assert not found["is_kept"] or (home / "cache" / "profiles.json").exists()


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """A model that is measured for so long that it is never between two runs."""
    return tiny.write(tmp_path / "slow.gguf", n_ctx=8192, layers=96, stops=False)


def test_interrupt_ends_it_with_130_and_leaves_nothing(slow: Path, home: Path) -> None:
    with started(*TUNE, "--target", slow, "--draft", "none", first=ENDLESS) as process:
        assert process.stderr is not None
        while "measuring" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WAIT_S)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert not list(home.rglob("*.json*"))
