"""The conditions of a model's speed: its file, its settings, and the battery."""

import itertools
import os
import platform
import subprocess
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import psutil
import pytest

from models import free_cores, machine
from models.free_cores import FreeCores, best_thread_count
from models.native import loaded
from tests.models.evaluations import assert_same
from tests.models.files.stores import file

PROMPT = list(b"The same text, whatever the settings.")


def test_other_threads_make_other_conditions_but_no_other_model(open_model, tiny_target):
    one, two, again = (open_model(tiny_target, threads=n) for n in (1, 2, 1))
    assert two.conditions != one.conditions == again.conditions
    assert_same(two.logits(PROMPT), one.logits(PROMPT))


def test_threads_follow_free_cores_where_no_bit_changes(open_model, tiny_target, monkeypatch):
    counts, engine = itertools.cycle([1, 3, 2]), loaded.engine()
    threads = property(lambda _: next(counts), Mock())
    monkeypatch.setattr(FreeCores, "threads", threads, raising=False)
    observed = Mock(return_value=0.0)
    monkeypatch.setattr(free_cores, "_seconds_of_others", observed)
    set_threads = Mock(wraps=engine.c.llama_set_n_threads)
    monkeypatch.setattr(engine.c, "llama_set_n_threads", set_threads)
    fixed, changing = (open_model(tiny_target, threads=n) for n in (1, None))
    for length, rows in ((200, 1), (201, 1), (204, 3), (205, 1), (230, 20), (231, 1)):
        tokens = [7919 * i % 256 for i in range(length)]
        alike = np.array_equal(fixed.logits(tokens, rows), changing.logits(tokens, rows))
        assert alike or not engine.computes_alike
    used = {call.args[1:] for call in set_threads.call_args_list}
    assert used == ({(n, n) for n in (1, 2, 3)} if engine.computes_alike else set())
    assert observed.called == engine.computes_alike  # each evaluation adds to what is known
    assert [fixed.has_all_cores, changing.has_all_cores] == [True, True]
    if engine.computes_alike:
        changing._free_cores.are_free = False
        assert not changing.has_all_cores


@pytest.mark.parametrize(
    ("processors", "cores", "seconds", "counts"),
    [  # of other programs and of this one, in each second; and the numbers of threads
        (2, 2, [(0.0, 2.0)] * 2, [2, 2]),
        (2, 2, [(0.7, 1.3), (1.0, 1.0), (0.1, 1.0)], [1, 1, 2]),  # one program wants a core
        (2, 2, [(0.4, 1.6), (0.55, 1.4)], [2, 1]),  # a part of one
        (2, 2, [(1.3, 0.7), (1.6, 0.4), (2.0, 0.0)], [1, 1, 1]),  # more programs than cores
        (2, 2, [(-1.0, 2.0)], [2]),  # its own time counts once
        (2, 2, [(1.0, 1.0)] * 21, [1] * 19 + [2, 1]),  # a trial
        (8, 8, [(0.9, 7.1), (1.0, 7.0), (0.05, 7.9)], [7, 7, 8]),
        (8, 8, [(2.7, 5.3), (4.0, 4.0), (5.0, 3.0)], [5, 4, 3]),
        (8, 8, [(0.0, 0.0), (8.0, 0.0)], [8, 1]),
        (8, 2, [(5.0, 2.0), (6.9, 1.0)], [2, 1]),  # cores with several processors, or a limit
    ],
)
def test_threads_are_as_many_as_free_processors(monkeypatch, processors, cores, seconds, counts):
    clock = SimpleNamespace(now=0.0, own=0.0, used=0.0)
    allowed = {*range(1, processors + 1)}
    monkeypatch.setattr(free_cores, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(free_cores, "process_time", lambda: clock.own)
    monkeypatch.setattr(free_cores, "compute_cores", lambda: cores)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: allowed, raising=False)

    def times(percpu):
        half = clock.used / processors / 2
        used = SimpleNamespace(user=half, nice=half, system=1.0, idle=clock.now)
        return [SimpleNamespace(user=99 * clock.now), *[used] * processors, used]

    monkeypatch.setattr(psutil, "cpu_times", times)
    free = FreeCores()
    for (others, own), count in zip(seconds, counts, strict=True):
        with free.observe():
            clock.now, clock.own = clock.now + 1, clock.own + own
            clock.used += others + own
        clock.now, clock.used = clock.now + 9, clock.used + 9 * processors  # between evaluations
        assert free.threads == count
        assert free.are_free == (best_thread_count(processors - others) >= cores)  # also in a trial


HYBRID = {"cpu_core/cpus": "0-2,4\n"}
for cpu, siblings in enumerate(["0-1", "0-1", "2-3", "2-3", "4-5", "4-5", "6", "7"]):
    HYBRID[f"system/cpu/cpu{cpu}/topology/thread_siblings_list"] = f"{siblings}\n"
ARM = {f"system/cpu/cpu{cpu}/cpu_capacity": f"{414 if cpu < 4 else 1024}\n" for cpu in range(8)}


@pytest.mark.parametrize(
    ("files", "allowed", "cores"),
    [
        (HYBRID, 8, 3),
        (HYBRID, 3, 2),  # two threads of one core, and another core
        ({**HYBRID, "cpu_core/cpus": "8-9"}, 8, 5),  # it may use no performance core
        (ARM, 8, 4),
        (ARM, 5, 5),  # of the fast ones only one, which is slower than all five
        ({}, 8, 5),
        ({}, 4, 4),
    ],
)
def test_efficiency_cores_are_not_used_beside_others(tmp_path, monkeypatch, files, allowed, cores):
    for name, text in files.items():
        file(tmp_path / name, text.encode())
    monkeypatch.setattr(machine, "DEVICES", tmp_path)
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: 5)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {*range(allowed)}, raising=False)
    assert machine.compute_cores() == cores


@pytest.mark.parametrize(("printed", "cores"), [("4\n", 4), ("", 8)])
def test_macos_counts_the_performance_cores_of_apple_silicon(monkeypatch, printed, cores):
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=printed))
    monkeypatch.setattr(psutil, "cpu_count", lambda logical: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {*range(8)}, raising=False)
    assert machine.compute_cores() == cores


@pytest.mark.parametrize(
    ("system", "printed", "name"),
    [("darwin", "Apple M2\n", "Apple M2"), ("linux", "", f"{platform.machine()} fp asimd")],
)
def test_a_processor_of_arm_has_a_name_or_its_features(monkeypatch, system, printed, name):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=printed))
    text = "processor\t: 0\nFeatures\t: fp asimd\nCPU part\t: 0xd0b\n"
    monkeypatch.setattr(machine, "cpuinfo", lambda: text)
    assert machine.processor() == name


@pytest.mark.parametrize(
    ("group", "cores", "total", "free"),
    [
        ("inner/scope", 1, 3000, 900),  # time for 1.5 cores, and the outer memory
        ("inner", 2, 3000, 900),
        ("", 4, 9000, 5000),  # there are no files at the root of a machine
        ("elsewhere", 4, 9000, 5000),
    ],
)
def test_a_container_has_what_its_limits_allow(tmp_path, monkeypatch, group, cores, total, free):
    for name, time, limit, anonymous in [
        ("inner/scope", "150000 100000", "max", 100),
        ("inner", "200000 100000", "3000", 2100),
        ("elsewhere", "max 100000", "max", 1),
    ]:
        file(tmp_path / name / "cpu.max", f"{time}\n".encode())
        file(tmp_path / name / "memory.max", f"{limit}\n".encode())
        file(tmp_path / name / "memory.stat", f"anon {anonymous}\nfile 7\n".encode())
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


MOUSE = {"type": "Battery", "scope": "Device", "status": "Discharging"}
CHARGER = {"type": "Mains", "online": "1"}
EMPTYING, FULL = ({"type": "Battery", "status": status} for status in ("Discharging", "Full"))


@pytest.mark.parametrize(
    ("supplies", "says"),
    [
        ([], False),
        ([MOUSE], False),
        ([MOUSE, EMPTYING], True),
        ([FULL, EMPTYING, {**CHARGER, "online": "0"}], True),
        ([EMPTYING, CHARGER], False),
        ([FULL], False),
    ],
)
def test_a_machine_runs_on_a_battery_of_its_own_that_empties(tmp_path, monkeypatch, supplies, says):
    for number, supply in enumerate(supplies):
        for name, value in supply.items():
            file(tmp_path / f"{number}" / name, f"{value}\n".encode())
    monkeypatch.setattr(machine, "SUPPLIES", tmp_path)
    monkeypatch.setattr(sys, "platform", "linux")
    assert machine.is_on_battery() is says


def test_a_machine_elsewhere_runs_on_a_battery_that_is_not_charged(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    batteries = [SimpleNamespace(power_plugged=plugged) for plugged in (True, False, None)]
    sensor = iter([*batteries, None])
    monkeypatch.setattr(psutil, "sensors_battery", lambda: next(sensor), raising=False)
    assert [machine.is_on_battery() for _ in range(4)] == [False, True, False, False]
    monkeypatch.delattr(psutil, "sensors_battery")
    assert not machine.is_on_battery()
