"""Announces a message of four gigabytes."""

import os
import sys
import time

os.read(int(sys.argv[1]), 1)
os.write(int(sys.argv[2]), b"\xff\xff\xff\xff" * 100)
time.sleep(600)
