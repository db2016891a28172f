"""The engine in a separate process: what llama.cpp breaks, breaks there."""
