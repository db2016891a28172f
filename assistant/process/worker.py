"""The process that computes: `python -m assistant.process.worker PARENT`.

Commands come by its standard input and events leave by its standard output; what libraries print
goes to standard error. PARENT is the number of the process that asks. This one never outlives it,
leaves no core file, opens no connection where the system can see to that (but to machines that are
to compute layers), and keeps away from the terminal.
"""

import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from assistant.process.landlock import forbid_connections
from models import child_process, rpc_servers
from models.errors import UsageError


def main(serve: Callable[[int, int], NoReturn]) -> NoReturn:
    """Call `serve` with the pipes of commands and events, once this process is confined."""
    commands, events = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # before anything is imported that may print
    _confine(int(sys.argv[-1]))
    serve(commands, events)


def chat(commands: int, events: int) -> NoReturn:
    """Serve a chat until the pipe of commands ends."""
    # The import runs native code, which may be what ends this process.
    from assistant.engine.handlers import HANDLERS
    from assistant.process.command_loop import serve
    from assistant.process.protocol import CHAT

    serve(commands, events, CHAT, HANDLERS)


def _confine(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold the conversation
    child_process.die_with(parent)
    forbid_connections(_ports())  # before there is a second thread, which it would not bind


def _ports() -> list[int]:
    try:
        return [server.port for server in rpc_servers.servers()]
    except UsageError:  # it is said when a model is loaded
        return []


if __name__ == "__main__":
    main(chat)
