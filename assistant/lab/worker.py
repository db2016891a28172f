"""The process that computes for the laboratories, too; see `assistant.process.worker`."""

from assistant.process.worker import Jobs, main


def laboratories() -> Jobs:
    """Return what this process can do: measure, prove, and all that a chat needs."""
    from assistant.lab.handlers import HANDLERS  # native code, as in the chat's worker
    from assistant.lab.protocol import LAB

    return LAB, HANDLERS


if __name__ == "__main__":
    main(laboratories)
