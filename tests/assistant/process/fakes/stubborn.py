"""Answers pings and never ends a job."""

import os
import sys

from assistant.events import Loading
from assistant.process.protocol import CHAT, Ping, Pong
from assistant.process.wire import Frames, framed
from assistant.request import Setup

frames = Frames()
while data := os.read(int(sys.argv[1]), 65536):
    for message in frames.feed(data):
        match CHAT.commands.decode(message):
            case Setup():
                os.write(
                    int(sys.argv[2]), framed(CHAT.messages.encode(Loading("target", "x", 0.0)))
                )
            case Ping():
                os.write(int(sys.argv[2]), framed(CHAT.messages.encode(Pong())))
