"""Write down which of our files run: Python imports this when a traced process starts.

Each process appends the name of a file to `FOLDER/PID` when code of it runs for the first time; the
body of a module, which runs when it is imported, does not count. SIGUSR1 has a process begin again.
"""

import os
import signal
import sys
import threading

ROOT, FOLDER = os.environ["SPECCHAT_TRACE_ROOT"], os.environ["SPECCHAT_TRACE"]
PRODUCT = tuple(os.path.join(ROOT, package) + os.sep for package in ("assistant", "models", "tui"))
seen: set[str] = set()


def note(frame, event, argument):
    """Note the file of a function that begins."""
    if event != "call" or frame.f_code.co_name == "<module>":
        return
    name = frame.f_code.co_filename
    if name not in seen:
        seen.add(name)
        if name.startswith(PRODUCT):
            with open(output, "a") as file:
                file.write(f"{name[len(ROOT) + 1 :]}\n")


def begin_again(number, frame):
    """Forget what has run so far."""
    with open(output, "w"):
        seen.clear()


output = os.path.join(FOLDER, str(os.getpid()))
signal.signal(signal.SIGUSR1, begin_again)
threading.setprofile(note)
sys.setprofile(note)
