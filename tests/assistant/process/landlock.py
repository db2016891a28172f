"""A script that tries to open a connection after landlock has forbidden it."""

import socket

from tests.scripts import printed

TRY = """
import socket, sys, threading
from models.child_process import forbid_connections
if "free" not in sys.argv and not forbid_connections():
    print("unsupported")
    sys.exit()
def connect_bound():
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
        print("connected")
    except PermissionError:
        print("refused")
thread = threading.Thread(target=connect_bound)
thread.start()
thread.join()
"""


def connect_bound(*how: str) -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        return printed(TRY, port, *how).strip()
