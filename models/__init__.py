"""GGUF files and llama.cpp: tokens in, logits out. Knows nothing of sampling, chat or terminals."""
