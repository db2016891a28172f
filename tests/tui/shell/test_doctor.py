"""`specchat doctor`: the report on the engines."""

from pathlib import Path

from assistant.engine import engine_choice
from assistant.engine.engine_choice import EngineChoice
from assistant.request import EngineArgs
from models import engines
from models.files.places import cache_dir
from models.native import loaded
from tests import ROOT
from tests.engine import needs_both
from tui.shell import doctor_command
from tui.shell.doctor_command import Finding


def of_the_second_engine() -> Finding:
    (found,) = doctor_command._other_engine("ik")
    return found


@needs_both
def test_an_engine_that_is_installed_is_tried_in_another_process():
    before = loaded.in_use()
    found = of_the_second_engine()
    assert (found.topic, found.verdict) == ("ik_llama.cpp", "ok")
    assert "ik-llama-cpp-python 0.1.5" in found.text
    assert loaded.in_use() == before


def test_one_that_is_not_installed_comes_with_the_command(monkeypatch):
    monkeypatch.setattr(engines, "installed", list)
    found = of_the_second_engine()
    assert found.verdict == "note"
    assert str(found.fix).endswith("-m pip install ik-llama-cpp-python==0.1.5")
    (found,) = doctor_command._other_engine("llama")
    assert found.verdict == "note"
    assert "files that ik_llama.cpp refuses" in found.text
    assert str(found.fix) == f"make -C {ROOT} llama"


@needs_both
def test_one_that_cannot_be_loaded_is_told_with_the_reason(tmp_path, monkeypatch):
    """A library that is no library stands in for one that was built for another processor."""
    broken = tmp_path / "libllama.so"
    broken.write_bytes(b"no library")
    monkeypatch.setenv("IK_LLAMA_CPP_LIB_PATH", str(broken))
    found = of_the_second_engine()
    assert found.verdict == "note"
    assert "ik_llama.cpp cannot be loaded" in found.text
    assert found.text.endswith("llama.cpp works without it.")


@needs_both
def test_which_engine_runs_the_default_target_is_told_with_the_reason(tiny_target, monkeypatch):
    (found,) = doctor_command._choice(tiny_target)
    assert found.text == "ik_llama.cpp. It is faster on CPUs."
    setup = EngineArgs(tiny_target, cache=cache_dir())
    choice = EngineChoice("ik", "It is twice as fast.")
    engine_choice._records(cache_dir()).put(engine_choice._key(setup), choice)
    (found,) = doctor_command._choice(tiny_target)
    assert (found.topic, found.text) == ("engine", "ik_llama.cpp. It is twice as fast.")


def test_each_fault_of_the_settings_is_a_finding(unset_home: Path) -> None:
    def findings() -> list[Finding]:
        return [found for found in doctor_command.checkup() if found.topic == "settings"]

    assert not findings()
    path = unset_home / "config.toml"
    path.write_text("temprature = 1")
    (found,) = findings()
    assert found.verdict == "note"
    assert 'did you mean "temperature"?' in found.text
    path.write_text("top_p = 0\nctx = 1")
    verdicts = [(found.verdict, found.text.startswith(str(path))) for found in findings()]
    assert verdicts == [("bad", True)] * 2
