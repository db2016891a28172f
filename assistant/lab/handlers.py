"""How the laboratories do their jobs."""

from assistant.engine.handlers import HANDLERS as CORE
from assistant.engine.workplace import Handler, Workplace
from assistant.lab.bench.environment import bandwidth
from assistant.lab.bench.events import Compared, Gauged
from assistant.lab.bench.trial_runner import TrialRunner
from assistant.lab.protocol import Gauge, Lockstep, Prove, Proved, Tune, Tuned
from assistant.lab.prove.proof import Proof
from assistant.lab.tune.tune import Tuner


def _tune(job: Tune, place: Workplace) -> Tuned:
    return Tuner(job, place.control.cancel, place.emit).run()


def _measure(job: Lockstep, place: Workplace) -> Compared:
    runner = place.kept(TrialRunner)  # its models stay loaded for the next trials
    return runner.measure(job)


def _gauge(job: Gauge, place: Workplace) -> Gauged:
    return Gauged(bandwidth(job.threads))


def _prove(job: Prove, place: Workplace) -> Proved:
    return Proof(job, place.control, place.emit, place.pool).run()


HANDLERS: dict[type, Handler] = {
    **CORE,
    Tune: _tune,
    Lockstep: _measure,
    Gauge: _gauge,
    Prove: _prove,
}
