"""llama.cpp: the only place that imports llama_cpp, its low-level API."""

from models.native import environment as environment
