"""The process that computes for the laboratories, too; see `assistant.process.worker`."""

from typing import NoReturn

from assistant.process.worker import main


def laboratories(commands: int, events: int) -> NoReturn:
    """Serve a command that measures or proves until the pipe of commands ends."""
    # The imports run native code, which may be what ends this process.
    from assistant.lab.handlers import HANDLERS
    from assistant.lab.protocol import LAB
    from assistant.process.command_loop import serve

    serve(commands, events, LAB, HANDLERS)


if __name__ == "__main__":
    main(laboratories)
