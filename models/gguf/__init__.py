"""What a GGUF file says of itself, read with bounds and without llama.cpp."""

from models.gguf.header import Header, read

__all__ = ["Header", "read"]
