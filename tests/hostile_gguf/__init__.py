"""GGUF files as somebody would write them who means no good."""
