"""The process that computes for the laboratories, too; see `assistant.process.worker`."""

from assistant.process.worker import Jobs, main


def laboratories() -> Jobs:
    """Return the jobs of this process: measurements, proofs, and all that a chat needs."""
    from assistant.engine.engine import HANDLERS  # native code, as in the chat's worker
    from assistant.lab.bench.trial_runner import TrialRunner
    from assistant.lab.protocol import LAB, Lockstep, Prove, Tune
    from assistant.lab.prove.proof import prove
    from assistant.lab.tune import tune

    return LAB, {
        **HANDLERS,
        Tune: lambda job, state: tune(job, state.control.cancel, state.emit),
        # Its models stay loaded for the next trials.
        Lockstep: lambda job, state: state.get_or_create(TrialRunner).measure(job),
        Prove: lambda job, state: prove(job, state.control, state.emit),
    }


if __name__ == "__main__":
    main(laboratories)
