"""Talks nonsense."""

import os
import sys
import time

os.read(int(sys.argv[1]), 1)
os.write(int(sys.argv[2]), b"\x05\0\0\0Hello")
time.sleep(600)
