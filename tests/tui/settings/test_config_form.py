"""Settings while they are being changed: what is taken, what is written, what comes out."""

import pytest

from models.errors import UsageError
from tests.tui.settings.test_config import said
from tui.settings.fields import explain
from tui.settings.form import Form
from tui.settings.keys import KEYS
from tui.settings.settings import load

CODE = 'temperature = 1\ntop_k = 7\n[presets.code]\ntemperature = 0.2\nsystem = "terse"\n'


def form(text: str = "", **options) -> Form:
    config = said(text)
    return Form(load(options, config), config)


def test_untouched_settings_come_out_as_they_went_in_and_write_nothing():
    config = said(CODE)
    settings = load({"preset": "code", "seed": 3}, config)
    untouched = Form(settings, config)
    assert untouched.settings() == settings
    assert untouched.changes() == ({}, {})


def test_an_emptied_field_means_the_default():
    changing = form("temperature = 1.5\nthreads = 2")
    changing.type("temperature", "")
    changing.type("threads", " ")
    assert changing.changes()[0] == {"temperature": 0.7, "threads": "auto"}
    assert changing.settings().threads is None


def test_what_an_option_said_is_not_written_unless_it_is_changed():
    changing = form("temperature = 1", temperature=0.3, top_k=3)
    changing.type("top_k", "9")
    assert changing.changes()[0] == {"top_k": 9}
    chosen = changing.settings()
    assert (chosen.sampling.temperature, chosen.sampling.top_k) == (0.3, 9)
    assert str(chosen.sources["temperature"]) == "--temperature"
    assert str(chosen.sources["top_k"]) == "config.toml"


def test_leaving_a_preset_brings_back_what_the_file_says():
    changing = form(f'preset = "code"\n{CODE}')
    changing.set("preset", "none")
    assert changing.changes() == ({"preset": "none"}, {})
    assert changing.settings().sampling.temperature == 1
    assert changing.settings().system is None


def test_leaving_a_preset_keeps_what_an_option_said():
    changing = form(CODE, preset="code", temperature=0.2)
    changing.set("preset", "none")
    assert changing.settings().sampling.temperature == 0.2


def test_changing_what_a_preset_filled_ends_it_and_writes_what_is_seen():
    text = f'preset = "code"\n{CODE}'
    changing = form(text)
    changing.type("temperature", "0.4")
    assert changing.values["preset"] == "none"
    changes, _ = changing.changes()
    assert changes == {"preset": "none", "temperature": 0.4, "system": "terse"}


def test_changing_what_a_preset_left_alone_keeps_it():
    changing = form(f'preset = "code"\n{CODE}')
    changing.type("top_k", "3")
    assert changing.values["preset"] == "code"
    assert changing.changes() == ({"top_k": 3}, {})


def test_an_option_over_a_preset_neither_ends_it_nor_is_written():
    changing = form(CODE, preset="code", temperature=0.3)
    changing.type("top_k", "3")
    assert changing.values["preset"] == "code"
    assert changing.changes() == ({"top_k": 3}, {})


@pytest.mark.parametrize("name", ["", "  ", "none", "a\nb"])
def test_a_preset_needs_a_name(name):
    with pytest.raises(UsageError, match="needs a name"):
        form().keep(name)


def test_what_the_models_file_recommends_is_written_only_when_it_is_chosen():
    changing = form()
    changing.offer("Qwen3", {"temperature": 0.6})
    assert changing.changes() == ({}, {})
    changing.set("preset", "Qwen3")
    assert changing.changes() == ({"preset": "Qwen3"}, {"Qwen3": {"temperature": 0.6}})
    assert changing.settings().sampling.temperature == 0.6


@pytest.mark.parametrize("name", KEYS)
def test_every_key_says_what_it_is_and_from_when_on_it_counts(name):
    what, when = explain(form(), name)
    assert KEYS[name].kind.allowed in what
    assert KEYS[name].when in when


def test_what_came_from_elsewhere_is_said_with_what_becomes_of_a_change(monkeypatch):
    monkeypatch.setenv("SPECCHAT_MODE", "ars")
    changing = form(temperature=0.3)
    assert "--temperature for this run" in explain(changing, "temperature")[1]
    assert "SPECCHAT_MODE, which overrides" in explain(changing, "mode")[1]
