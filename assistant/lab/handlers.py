"""How the laboratories do their jobs."""

from assistant.engine.engine import HANDLERS as CORE
from assistant.engine.engine import Handler
from assistant.lab.bench.trial_runner import TrialRunner
from assistant.lab.protocol import Lockstep, Prove, Tune
from assistant.lab.prove.proof import prove
from assistant.lab.tune.tune import Tuner

HANDLERS: dict[type, Handler] = {
    **CORE,
    Tune: lambda job, state: Tuner(job, state.control.cancel, state.emit).run(),
    # Its models stay loaded for the next trials.
    Lockstep: lambda job, state: state.get_or_create(TrialRunner).measure(job),
    Prove: lambda job, state: prove(job, state.control, state.emit),
}
