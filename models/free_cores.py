"""The cores that other programs leave free, and how many threads an evaluation needs there."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, process_time

import psutil

from models.machine import compute_cores, processors

PERIOD_S = 0.5  # seconds of evaluations after which their number of threads may change
TRIAL_EVERY = 20
"""Periods after which all cores are used for one. Beside all threads, a program that gives way to
them computes little; beside fewer, it would seem to need the other cores."""
COMPUTING = ("user", "nice", "system", "irq", "softirq", "steal")  # of a processor


class FreeCores:
    """The number of threads with which an evaluation ends soonest beside other programs.

    Beside one to six other programs on two cores, the default model was 1.3 to 3.7 times as fast
    with one thread as with two, also where those had a lower priority: Linux weighs priorities
    only among the programs of one terminal.
    """

    def __init__(self) -> None:
        self._most = self.threads = compute_cores()
        """The number for the next evaluation."""
        self.are_free = True
        """Whether other programs leave all cores that an evaluation uses on a calm machine."""
        self._periods, self._evaluated_s, self._others_s = 0, 0.0, 0.0

    @contextmanager
    def observe(self) -> Iterator[None]:
        """Observe what others compute during an evaluation.

        What they compute between two does not count: it may be another engine, whose turn it is.
        """
        started, before = perf_counter(), _seconds_of_others()
        yield
        self._evaluated_s += perf_counter() - started
        self._others_s += _seconds_of_others() - before
        if self._evaluated_s >= PERIOD_S:
            self._periods += 1
            free = len(processors()) - self._others_s / self._evaluated_s
            self.are_free = best_thread_count(free) >= self._most
            is_trial = self._periods % TRIAL_EVERY == 0
            self.threads = self._most if is_trial or self.are_free else best_thread_count(free)
            self._evaluated_s = self._others_s = 0.0


def best_thread_count(free: float) -> int:
    """Return with how many threads an evaluation ends soonest on so many free cores.

    Threads have equal parts of an evaluation and wait for the slowest one. If one of n threads has
    a core only a part of the time, all n compute only for that part: their speed is n times that
    part.
    """
    whole = max(1, int(free))
    return whole + 1 if (whole + 1) * (free - whole) > whole else whole


def _seconds_of_others() -> float:
    """Return for how long other programs have used the processors that this process may use."""
    ours, every = processors(), enumerate(psutil.cpu_times(percpu=True))
    used = (getattr(cpu, name, 0.0) for i, cpu in every if i in ours for name in COMPUTING)
    return sum(used) - process_time()
