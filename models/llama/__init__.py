"""llama.cpp: the one place where llama_cpp, its low-level API, is imported."""

from models.native import environment as environment
