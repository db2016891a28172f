"""ik_llama.cpp, a fork with kernels of its own: the one place where ik_llama_cpp is imported."""

from models.native import environment as environment
