"""Lacks a library."""

import os
import sys

os.read(int(sys.argv[1]), 1)
import llama_gone  # type: ignore[import-not-found]  # noqa: E402, F401
