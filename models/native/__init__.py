"""A GGUF model run by llama.cpp or by a fork that has its C interface, whichever is loaded."""
