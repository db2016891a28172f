"""Run a server, and end it with all that it started when specchat ends, however that ends.

A program of its own, `keeper.py LIFELINE COMMAND ...`. LIFELINE is the number of one end of a pipe;
only specchat holds the other end, so the system closes it even if specchat is killed.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

ASKED_S = 1.0
"""Seconds in which a server may end by itself once it is asked to."""
NOT_STARTED = 127


def main(lifeline: int, command: list[str]) -> int:
    """Run the command to its end, or to specchat's, and return its exit status."""
    try:
        server = subprocess.Popen(command, process_group=0)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return NOT_STARTED

    def stop() -> None:
        os.read(lifeline, 1)  # returns when nobody holds the other end
        _kill(server.pid, signal.SIGTERM)
        time.sleep(ASKED_S)
        _kill(server.pid, signal.SIGKILL)

    threading.Thread(target=stop, daemon=True).start()
    code = server.wait()
    _kill(server.pid, signal.SIGKILL)  # what it started may still run
    return code if code >= 0 else 128 - code


def _kill(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
