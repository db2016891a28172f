"""A worker that ends has the models copied that it has used."""

import pytest

from tests.scripts import printed

ENDING = """
import os, sys
from pathlib import Path
from threading import Thread
from assistant.process import wire, worker
from assistant.process.wire import CHAT, Envelope
from assistant.request import EngineArgs
from models.native import repacked

repacked.make_later = lambda engine, source: print(source, flush=True)
(commands, send), (receive, events) = os.pipe(), os.pipe()
setup = EngineArgs(Path(sys.argv[1]), n_ctx=512, threads=1, copies=sys.argv[2] == "True")
serving = Thread(target=worker.serve, args=(commands, events, *worker.chat()))
serving.start()
os.write(send, wire.framed(CHAT.commands.encode(Envelope(1, setup))))
pipe = os.fdopen(receive, "rb")
while not CHAT.messages.decode(wire.read(pipe)).last:
    pass
os.close(send)
serving.join()
"""


@pytest.mark.parametrize("copies", [True, False])
def test_a_worker_whose_client_leaves_has_copies_made_if_that_is_wanted(tiny_target, copies):
    assert printed(ENDING, tiny_target, copies).split() == [str(tiny_target)] * copies
