"""How the laboratories do their jobs."""

from assistant.engine.handlers import HANDLERS as CORE
from assistant.engine.workplace import Handler
from assistant.lab.bench.environment import bandwidth
from assistant.lab.bench.events import Gauged
from assistant.lab.bench.trial_runner import TrialRunner
from assistant.lab.protocol import Gauge, Lockstep, Prove, Tune
from assistant.lab.prove.proof import Proof
from assistant.lab.tune.tune import Tuner

HANDLERS: dict[type, Handler] = {
    **CORE,
    Tune: lambda job, place: Tuner(job, place.control.cancel, place.emit).run(),
    # Its models stay loaded for the next trials.
    Lockstep: lambda job, place: place.kept(TrialRunner).measure(job),
    Gauge: lambda job, place: Gauged(bandwidth(job.threads)),
    Prove: lambda job, place: Proof(job, place.control, place.emit, place.pool).run(),
}
