"""The content of GGUF files, read with limits and without llama.cpp."""

from models.gguf.header import Header, read
from models.gguf.vocabulary import FileVocabulary, read_vocabulary

__all__ = ["FileVocabulary", "Header", "read", "read_vocabulary"]
