"""Announces a message of four gigabytes."""

import os
import time

os.read(0, 1)
os.write(1, b"\xff\xff\xff\xff" * 100)
time.sleep(600)
