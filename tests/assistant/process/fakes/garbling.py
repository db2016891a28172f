"""A worker that writes bytes that are no message."""

import os
import time

os.read(0, 1)
os.write(1, b"\x05\0\0\0Hello")
time.sleep(600)
