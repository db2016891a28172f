"""The engine in a process of its own: what llama.cpp breaks, breaks there."""
