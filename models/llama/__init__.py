"""A GGUF model run by llama.cpp: the one place where llama_cpp, its low-level API, is imported."""
