"""`specchat models flatten`: what it prints, asks, keeps and refuses."""

import json
import shutil
import signal
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from assistant.lab.slim import flat_trial
from assistant.lab.slim.divergence import Divergence
from assistant.lab.slim.flat_trial import FlatFigures
from models.drafts import best_draft
from models.errors import UsageError
from models.files.discovery import discover, identify
from models.native.quantize import quantize
from models.slim.writing import read_layout
from tests import tiny
from tests.patience import WAIT_S
from tests.tui.shell.program import ended, endless, start
from tests.tui.shell.program import run as run_program
from tui.models.command import models

Q4_K, Q6_K = 12, 14


@pytest.fixture(scope="module")
def steep(tmp_path_factory):
    """A target whose head is steep."""
    folder = tmp_path_factory.mktemp("steep")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiny, "EMBEDDING", 256)
        patch.setattr(tiny, "HEAD", 128)
        patch.setattr(tiny, "FEED_FORWARD", 1024)
        plain = tiny.write(folder / "plain.gguf", name="Tiny", layers=2, file_type=15)
    matrices = [t.name for t in read_layout(plain).tensors if len(t.shape) > 1]
    kinds = dict.fromkeys(matrices, Q4_K) | {"output.weight": Q6_K}
    quantize(plain, folder / "target.gguf", None, kinds=kinds)
    return folder / "target.gguf"


@pytest.fixture
def here(bare_machine, steep):
    """A machine with that target and a draft; the target is in a folder."""
    (bare_machine / "models").mkdir()
    tiny.write(bare_machine / "models" / "draft.gguf", name="Draft")
    shutil.copy(steep, bare_machine / "target.gguf")
    return bare_machine


def files(folder):
    return sorted(path.name for path in (folder / "models").iterdir())


def measured(gain):
    """Figures that do not depend on how fast the machine is."""
    verify = {1: (1.0, 1.0), 2: (1.5, 1.5 / gain), 4: (2.0, 2.0 / gain), 8: (9.0, 9.0)}
    return lambda *arguments: FlatFigures(verify, (9, 8), Divergence(976, 0.0123, 0.09, 0.955))


def run(monkeypatch, gain, *arguments, **options):
    monkeypatch.setattr(flat_trial, "measure", measured(gain))
    result = CliRunner().invoke(models, ["flatten", *map(str, arguments)], **options)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_flatten_measures_with_the_models_themselves_and_keeps_another_model(here):
    source = here / "target.gguf"
    before = source.read_bytes()
    code, out, err = run_program("models", "flatten", source, "--yes", "--anyway")
    assert code == 0, err
    assert "1 × Q6_K to Q4_K: " in out
    assert "batch of 8" in out
    assert "KL divergence" in out
    assert f"Kept {here}/models/target-flat.gguf" in out
    assert files(here) == ["draft.gguf", "target-flat.gguf"]
    assert source.read_bytes() == before
    _, listed, _ = ended("models", "list", "--json")
    mine = {each["model"]: each["path"] for each in json.loads(listed)["installed"]}
    assert mine["Tiny flattened"] == str(here / "models" / "target-flat.gguf")
    _, shown, _ = ended("models", "show", here / "models" / "target-flat.gguf")
    assert "target.gguf, sha256 " in shown
    assert ": 1 × Q6_K to Q4_K" in shown
    draft, _ = best_draft(identify(mine["Tiny flattened"]), discover())
    assert draft.name == "draft.gguf"
    code, _, err = ended("models", "flatten", source)
    assert code == 2
    assert "target-flat.gguf exists already" in err


@pytest.mark.parametrize(
    ("gain", "flags", "answer", "question", "kept"),
    [
        (2, [], "\n", "Keep it? [Y/n]", True),
        (2, [], "n\n", "Keep it? [Y/n]", False),
        (2, ["--yes"], None, None, True),
        (1, [], "\n", "Keep it anyway? [y/N]", False),
        (1, [], "y\n", "Keep it anyway? [y/N]", True),
        (1, ["--yes"], None, None, False),
        (1, ["--anyway"], None, None, True),
    ],
)
def test_it_is_kept_when_it_helps_or_somebody_wants_it(
    here, monkeypatch, gain, flags, answer, question, kept
):
    result = run(monkeypatch, gain, here / "target.gguf", *flags, input=answer)
    assert ("It does not help here" in result.stdout) is (gain == 1)
    assert (question or "Keep it") in result.stderr or question is None
    assert ("Keep it" in result.stderr) is (question is not None)
    assert files(here) == ["draft.gguf", "target-flat.gguf"][: 1 + kept]
    assert ("Nothing was kept." in result.stdout) is not kept
    figures = "95.5%; KL divergence 0.0123 nats on average, 0.090 at the 99th percentile"
    assert figures in result.stdout


def test_nobody_who_answers_keeps_nothing(here, monkeypatch):
    with pytest.raises(UsageError, match="Nothing was kept; --yes"):
        run(monkeypatch, 2, here / "target.gguf", input="")
    assert files(here) == ["draft.gguf"]


def test_json_is_one_object_and_asks_nothing(here, monkeypatch):
    facts = json.loads(run(monkeypatch, 2, here / "target.gguf", "--json").stdout)
    assert facts["made"] is None
    assert facts["figures"]["helps"] is True
    assert facts["figures"]["verify"]["2"] == [1.5, 0.75]
    assert facts["figures"]["divergence"]["mean"] == 0.0123
    assert files(here) == ["draft.gguf"]
    facts = json.loads(run(monkeypatch, 2, here / "target.gguf", "--json", "--yes").stdout)
    assert Path(facts["made"]).is_file()


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("nowhere.gguf", 3, "There is no file"),
        ("page.gguf", 3, "page.gguf is a web page, not a model"),
        ("models/draft.gguf", 3, "nothing to flatten: its matrices are F32"),
        ("mamba.gguf", 3, "is recurrent"),
        ("m-00001-of-00002.gguf", 3, "parts are missing"),
    ],
)
def test_what_cannot_be_flattened_is_one_sentence(here, name, code, reason):
    (here / "page.gguf").write_bytes(b"<html>")
    tiny.write(here / "mamba.gguf", "mamba")
    (here / "target.gguf").rename(here / "m-00001-of-00002.gguf")
    found, out, err = ended("models", "flatten", here / name)
    assert (found, out) == (code, ""), err
    assert reason in err.splitlines()[-1]
    assert "Traceback" not in err
    assert files(here) == ["draft.gguf"]


@pytest.mark.parametrize(
    ("stage", "module", "function"),
    [
        ("requantising", "models.slim.flattening", "quantize"),
        ("measuring", "assistant.lab.slim.flat_trial", "measure"),
    ],
)
def test_interrupt_keeps_nothing_and_ends_with_130(here, stage, module, function):
    held = endless(module, function)
    program = start("models", "flatten", here / "target.gguf", "--yes", first=held)
    while stage not in (line := program.stderr.readline()):
        assert line, program.communicate()
    time.sleep(0.05)  # most often in the middle of it; it is right at any moment
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=WAIT_S)
    assert program.returncode == 130, said
    assert said.endswith("Stopped; nothing was kept.\n")
    assert "Traceback" not in said
    assert files(here) == ["draft.gguf"]
