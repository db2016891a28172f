"""ik_llama.cpp, a fork with its own kernels: the only place that imports ik_llama_cpp."""

from models import native as native
