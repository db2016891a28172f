"""The conditions of a model's speed: its file, its settings, and the battery."""

import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest

from models import machine
from models.native.model import NativeModel
from models.native.weights import Weights
from tests.models.evaluations import assert_same

PROMPT = list(b"The same text, whatever the settings.")


def run(path, **settings):
    weights = Weights(path)
    model = NativeModel(weights, n_ctx=256, **settings)
    logits, conditions = model.logits(PROMPT).copy(), model.conditions
    model.close()
    weights.close()
    return logits, conditions


def test_other_threads_make_other_conditions_but_no_other_model(tiny_target):
    usual, conditions = run(tiny_target, threads=1)
    others, other_conditions = run(tiny_target, threads=2)
    assert other_conditions != conditions
    assert_same(others, usual)
    assert run(tiny_target, threads=1)[1] == conditions


def test_a_file_that_was_touched_is_another_one(tiny_target, tmp_path):
    copy = shutil.copy2(tiny_target, tmp_path / "copy.gguf")
    before = run(copy)[1]
    os.utime(copy, ns=(0, 1))
    assert run(copy)[1] != before


HYBRID = {"cpu_core/cpus": "0-2,4\n"}
for cpu, siblings in enumerate(["0-1", "0-1", "2-3", "2-3", "4-5", "4-5", "6", "7"]):
    HYBRID[f"system/cpu/cpu{cpu}/topology/thread_siblings_list"] = f"{siblings}\n"


@pytest.mark.parametrize(
    ("files", "allowed", "cores"),
    [
        (HYBRID, 8, 3),
        (HYBRID, 3, 2),  # two threads of one core, and another core
        ({**HYBRID, "cpu_core/cpus": "8-9"}, 8, 5),  # it may use no performance core
        ({}, 8, 5),
        ({}, 4, 4),
    ],
)
def test_efficiency_cores_are_not_used_beside_others(tmp_path, monkeypatch, files, allowed, cores):
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(machine, "DEVICES", tmp_path)
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: 5)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {*range(allowed)}, raising=False)
    assert machine.compute_cores() == cores


@pytest.mark.parametrize(("printed", "cores"), [(b"4\n", 4), (b"", 8)])
def test_macos_counts_the_performance_cores_of_apple_silicon(monkeypatch, printed, cores):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=printed))
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {*range(8)}, raising=False)
    assert machine.compute_cores() == cores


@pytest.mark.parametrize(
    ("group", "cores", "total", "free"),
    [
        ("inner/scope", 1, 3000, 900),  # time for 1.5 cores, and the outer memory
        ("inner", 2, 3000, 900),
        ("", 4, 9000, 5000),  # there are no files at the root of a machine
        ("elsewhere", 4, 9000, 5000),
    ],
)
def test_a_container_has_the_cores_and_the_memory_of_its_limits(
    tmp_path, monkeypatch, group, cores, total, free
):
    for name, time, limit, anonymous in [
        ("inner/scope", "150000 100000", "max", 100),
        ("inner", "200000 100000", "3000", 2100),
        ("elsewhere", "max 100000", "max", 1),
    ]:
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "cpu.max").write_text(f"{time}\n")
        (tmp_path / name / "memory.max").write_text(f"{limit}\n")
        (tmp_path / name / "memory.stat").write_text(f"anon {anonymous}\nfile 7\n")
    (tmp_path / "membership").write_text(f"1:name=systemd:/x\n0::/{group}\n")
    monkeypatch.setattr(machine, "CGROUPS", tmp_path)
    monkeypatch.setattr(machine, "MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr(machine, "DEVICES", tmp_path)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {*range(8)}, raising=False)
    whole = SimpleNamespace(total=9000, available=5000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: whole)
    assert (machine.compute_cores(), *machine.memory()) == (cores, total, free)


@pytest.mark.parametrize(("plugged", "says"), [(True, False), (False, True), (None, False)])
def test_a_machine_whose_battery_is_not_charged_runs_on_it(monkeypatch, plugged, says):
    battery = SimpleNamespace(power_plugged=plugged)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: battery, raising=False)
    assert machine.is_on_battery() is says


def test_a_machine_without_a_battery_runs_on_none(monkeypatch):
    monkeypatch.setattr(psutil, "sensors_battery", lambda: None, raising=False)
    assert not machine.is_on_battery()
    monkeypatch.delattr(psutil, "sensors_battery")
    assert not machine.is_on_battery()
