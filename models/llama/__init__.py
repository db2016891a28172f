"""llama.cpp: the only place that imports llama_cpp, its low-level API."""

from models import native as native
