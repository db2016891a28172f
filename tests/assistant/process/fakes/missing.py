"""Lacks a library."""

import os

os.read(0, 1)
import llama_gone  # type: ignore[import-not-found]  # noqa: E402, F401
