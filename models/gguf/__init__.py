"""What a GGUF file contains, read with limits and without llama.cpp."""

from models.gguf.header import Header, read
from models.gguf.summary import Fingerprint, ModelSummary, fingerprint, summarise
from models.gguf.vocabulary import FileVocabulary, read_vocabulary

__all__ = [
    "FileVocabulary",
    "Fingerprint",
    "Header",
    "ModelSummary",
    "fingerprint",
    "read",
    "read_vocabulary",
    "summarise",
]
